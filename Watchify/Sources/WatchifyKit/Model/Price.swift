public import Foundation

/// An exact amount of money without a currency: an integer number of ten-thousandths of a unit.
///
/// Shops serve decimal text with at most three digits after the point ("1099000.00", "2200", "12.345"); four are kept,
/// so nothing is rounded. The currency is stored separately, because it is a property of a whole read of a shop.
///
/// ```swift
/// let price = Price("164.80")     // 164.8
/// price?.decimal                  // Decimal 164.8
/// ```
public struct Price: Hashable, Comparable, Sendable {
  /// The number of parts in a unit.
  public static let scale: Int64 = 10_000
  /// Zero.
  public static let zero = Price(tenThousandths: 0)

  /// The amount in ten-thousandths.
  public var tenThousandths: Int64

  /// Creates an amount from ten-thousandths of a unit.
  public init(tenThousandths: Int64) { self.tenThousandths = tenThousandths }

  /// Creates an amount from decimal text as served by a feed. Returns `nil` for other text, for more than four non-zero
  /// digits after the point, and for amounts beyond about 9 × 10¹⁴ units.
  public init?(_ text: String) {
    var text = text
    guard let price = text.withUTF8({ Price(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = price
  }

  /// Creates an amount from decimal text in UTF-8, for decoders; `nil` as for `init(_:)`.
  init?(utf8 bytes: UnsafeRawBufferPointer) {
    var (value, digits, fraction, isNegative) = (Int64(0), 0, -1, false)
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "-") where index == 0: isNegative = true
      case UInt8(ascii: ".") where fraction < 0 && digits > 0: fraction = 0
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let digit = Int64(byte - UInt8(ascii: "0"))
        digits += 1
        if fraction >= 4 {
          guard digit == 0 else { return nil }
          continue
        }
        let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
        let (sum, isBeyond) = product.addingReportingOverflow(digit)
        guard !isTooLarge, !isBeyond else { return nil }
        value = sum
        if fraction >= 0 { fraction += 1 }
      default: return nil
      }
    }
    guard digits > 0, fraction != 0 else { return nil }
    for _ in max(fraction, 0)..<4 {
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      guard !isTooLarge else { return nil }
      value = product
    }
    tenThousandths = isNegative ? -value : value
  }

  /// The price; `nil` if it is zero, which as a compare-at price means none.
  var unlessZero: Price? { self == .zero ? nil : self }

  /// The exact amount as a `Decimal`.
  public var decimal: Decimal {
    // A division of two decimals takes several times as long as reading the price from the feed.
    var (significand, exponent) = (tenThousandths.magnitude, -4)
    while exponent < 0, significand.isMultiple(of: 10) { (significand, exponent) = (significand / 10, exponent + 1) }
    return Decimal(
      sign: tenThousandths < 0 ? .minus : .plus, exponent: exponent, significand: Decimal(significand))
  }

  public static func < (left: Price, right: Price) -> Bool { left.tenThousandths < right.tenThousandths }
  /// Returns the difference of two amounts, wrapping on overflow.
  public static func - (left: Price, right: Price) -> Price {
    Price(tenThousandths: left.tenThousandths &- right.tenThousandths)
  }
}

extension Price: CustomStringConvertible {
  /// The amount as decimal text with at least two digits after the point, such as "164.80" or "12.345".
  public var description: String {
    let magnitude = tenThousandths.magnitude
    let (units, parts) = (magnitude / 10_000, magnitude % 10_000)
    var fraction = String(10_000 + parts).dropFirst()
    while fraction.count > 2, fraction.hasSuffix("0") { fraction.removeLast() }
    return (tenThousandths < 0 ? "-" : "") + "\(units).\(fraction)"
  }
}
