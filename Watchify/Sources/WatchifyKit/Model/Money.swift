import CofferLocks
public import Foundation

/// Amounts in words.
public enum Money {
  /// An amount as people write it: "$164.80", "¥2,200", "SGD 220.00"; without a known currency the bare number.
  ///
  /// The form is that of English, which the texts around it are in. No digit is rounded away.
  public static func text(_ amount: Decimal, _ currency: String?) -> String {
    guard let price = Price(amount.description) else { return amount.description }
    guard let currency, currency.utf8.count == 3, currency.allSatisfy({ $0.isASCII && $0.isLetter }) else {
      return price.text(digits: 2)
    }
    let form = form(of: Array(currency.uppercased().utf8))
    let sign = price < .zero ? "-" : ""
    return sign + form.symbol + Price(tenThousandths: abs(price.tenThousandths)).text(digits: form.digits)
  }

  private struct Form {
    var symbol: String
    var digits: Int
  }

  /// Foundation knows the symbols and the digits; asking it takes longer than writing a number.
  private static let forms = Locked<[[UInt8]: Form]>([:])

  private static func form(of currency: [UInt8]) -> Form {
    if let known = forms.withLock({ $0[currency] }) { return known }
    let code = String(decoding: currency, as: UTF8.self)
    let zero = Decimal(0).formatted(.currency(code: code).locale(Locale(identifier: "en_US")))
    // The space in it is one that does not break, which terminals and searches do not expect.
    let symbol = zero.prefix { $0 != "0" }.replacingOccurrences(of: "\u{A0}", with: " ")
    let form = Form(symbol: symbol, digits: zero.drop { $0 != "." }.dropFirst().count)
    forms.withLock { $0[currency] = form }
    return form
  }
}

extension Price {
  /// The number with commas between thousands, and at least so many digits after the point.
  fileprivate func text(digits: Int) -> String {
    let magnitude = tenThousandths.magnitude
    var units = ""
    for (index, digit) in String(magnitude / 10_000).reversed().enumerated() {
      if index > 0, index % 3 == 0 { units.append(",") }
      units.append(digit)
    }
    var fraction = String(10_000 + magnitude % 10_000).dropFirst()
    while fraction.count > digits, fraction.hasSuffix("0") { fraction.removeLast() }
    let sign = tenThousandths < 0 ? "-" : ""
    return sign + String(units.reversed()) + (fraction.isEmpty ? "" : ".\(fraction)")
  }
}
