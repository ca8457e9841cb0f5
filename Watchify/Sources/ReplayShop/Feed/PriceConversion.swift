/// A country with the currency and exchange rate in which a shop quotes prices.
public struct Market: Sendable, Hashable {
  /// The country, as an ISO 3166 code of two letters.
  public var country: String
  /// The currency, as an ISO 4217 code of three letters.
  public var currency: String
  /// The value of one unit of the base currency, in millionths of a unit of this one. An integer, so that prices are
  /// the same on every machine.
  public var rateInMillionths: Int

  /// Creates a market with its rate, such as 0.79 for pounds in a shop with prices in dollars.
  public init(country: String, currency: String, rate: Double) {
    self.country = country
    self.currency = currency
    rateInMillionths = Int((rate * 1_000_000).rounded())
  }

  /// Four markets of a shop with prices in US dollars.
  public static let some = [
    Market(country: "GB", currency: "GBP", rate: 0.79), Market(country: "SG", currency: "SGD", rate: 1.34),
    Market(country: "DE", currency: "EUR", rate: 0.92), Market(country: "JP", currency: "JPY", rate: 151.5),
  ]

  /// The currencies whose prices have no decimals.
  private static let withoutDecimals = ["JPY", "KRW", "CLP", "VND", "ISK", "HUF"]

  /// Returns a price, given in hundredths of the base currency, in this market, in the text form of the feed.
  func text(of hundredths: Int) -> String {
    guard Self.withoutDecimals.contains(currency) else {
      return priceText(Self.share(hundredths, rateInMillionths, of: 1_000_000))
    }
    return String(Self.share(hundredths, rateInMillionths, of: 100_000_000))
  }

  /// Returns `amount * rate / whole`, rounded; zero on overflow, which no price causes.
  private static func share(_ amount: Int, _ rate: Int, of whole: Int) -> Int {
    let (product, isTooLarge) = amount.multipliedReportingOverflow(by: rate)
    return isTooLarge ? 0 : (product + whole / 2) / whole
  }

  /// Returns the bytes of a feed with every `price` and `compare_at_price` converted to this market's currency.
  func converted(_ bytes: [UInt8]) -> [UInt8] {
    let name = Array("price\":".utf8)
    let quote = UInt8(ascii: "\"")
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + bytes.count / 64)
    var copied = 0
    var index = 0
    while index < bytes.count {
      guard bytes[index] == name[0], bytes[index...].starts(with: name),
        index > 0, bytes[index - 1] == quote || bytes[index - 1] == UInt8(ascii: "_")
      else {
        index += 1
        continue
      }
      index += name.count
      while index < bytes.count, bytes[index] == 0x20 { index += 1 }
      guard index < bytes.count, bytes[index] == quote,
        let end = bytes[(index + 1)...].firstIndex(of: quote), let price = hundredths(of: bytes[index + 1..<end])
      else { continue }
      result += bytes[copied...index]
      result += text(of: price).utf8
      copied = end
      index = end
    }
    result += bytes[copied...]
    return result
  }
}

/// Returns the hundredths of a decimal number in ASCII, such as 8900 for `89.00` and `89`; `nil` for other text.
func hundredths<Bytes: Collection>(of text: Bytes) -> Int? where Bytes.Element == UInt8 {
  var value = 0
  var decimals: Int?
  guard (1...15).contains(text.count) else { return nil }
  for byte in text {
    switch byte {
    case UInt8(ascii: "."):
      guard decimals == nil else { return nil }
      decimals = 0
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      if let some = decimals {
        if some >= 2 { continue }
        decimals = some + 1
      }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    default: return nil
    }
  }
  return switch decimals ?? 0 {
  case 0: value * 100
  case 1: value * 10
  default: value
  }
}
