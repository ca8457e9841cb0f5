import CofferCore
public import Foundation

/// Formatting of amounts of money.
public enum Money {
  /// Returns an amount as display text, such as "$164.80", "¥2,200" or "SGD 220.00"; without a currency code, the bare
  /// number.
  ///
  /// The format is US English, like the texts around it. The amount is never rounded.
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

  /// A cache of Foundation's symbols and fraction digits, because formatting with Foundation is slow.
  private static let forms = Locked<[[UInt8]: Form]>([:])

  private static func form(of currency: [UInt8]) -> Form {
    if let known = forms.withLock({ $0[currency] }) { return known }
    let code = String(decoding: currency, as: UTF8.self)
    let zero = Decimal(0).formatted(.currency(code: code).locale(Locale(identifier: "en_US")))
    // Foundation uses a no-break space, which terminals and searches do not expect.
    let symbol = zero.prefix { $0 != "0" }.replacingOccurrences(of: "\u{A0}", with: " ")
    let form = Form(symbol: symbol, digits: zero.drop { $0 != "." }.dropFirst().count)
    forms.withLock { $0[currency] = form }
    return form
  }
}

extension Price {
  /// Returns the number with commas between thousands and at least `digits` digits after the point.
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
