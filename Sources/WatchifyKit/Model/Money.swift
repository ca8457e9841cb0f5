public import Foundation

/// Amounts in words.
public enum Money {
  /// An amount as people write it: "$164.80", "¥2,200", "SGD 220.00"; without a known currency the bare number.
  ///
  /// The form is that of English, which the texts around it are in.
  public static func text(_ amount: Decimal, _ currency: String?) -> String {
    guard let currency, currency.utf8.count == 3, currency.allSatisfy({ $0.isASCII && $0.isLetter }) else {
      return amount.formatted(.number.locale(english).precision(.fractionLength(2...4)))
    }
    // The space in it is one that does not break, which terminals and searches do not expect.
    return amount.formatted(.currency(code: currency.uppercased()).locale(english))
      .replacingOccurrences(of: "\u{A0}", with: " ")
  }

  private static let english = Locale(identifier: "en_US")
}
