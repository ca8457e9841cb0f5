public import Foundation

/// An exact amount of money in whatever currency its shop serves: ten-thousandths of a unit, in an integer.
///
/// Shops write decimal text with at most three digits after the point ("1099000.00", "2200", "12.345"); four are kept,
/// so nothing is rounded. The currency is beside it, never in it: it belongs to a whole read of a shop.
///
/// ```swift
/// let price = Price("164.80")     // 164.8
/// price?.decimal                  // Decimal 164.8
/// ```
public struct Price: Hashable, Comparable, Sendable {
  /// How many parts a unit has.
  public static let scale: Int64 = 10_000
  /// Zero.
  public static let zero = Price(tenThousandths: 0)

  /// The amount in ten-thousandths.
  public var tenThousandths: Int64

  /// An amount in ten-thousandths.
  public init(tenThousandths: Int64) { self.tenThousandths = tenThousandths }

  /// Decimal text as a feed has it; `nil` for anything else, for more than four digits after the point that are not
  /// zero, and for what is beyond some 900 million million units.
  public init?(_ text: String) {
    var text = text
    guard let price = text.withUTF8({ Price(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = price
  }

  /// The same for bytes, for decoders.
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

  /// The amount as Foundation's exact decimal.
  public var decimal: Decimal { Decimal(tenThousandths) / Decimal(Self.scale) }

  public static func < (left: Price, right: Price) -> Bool { left.tenThousandths < right.tenThousandths }
  /// The difference.
  public static func - (left: Price, right: Price) -> Price {
    Price(tenThousandths: left.tenThousandths &- right.tenThousandths)
  }
}

extension Price: CustomStringConvertible {
  /// Plain decimal text with the digits that are needed and at least two: "164.80", "12.345".
  public var description: String {
    let magnitude = tenThousandths.magnitude
    let (units, parts) = (magnitude / 10_000, magnitude % 10_000)
    var fraction = String(10_000 + parts).dropFirst()
    while fraction.count > 2, fraction.hasSuffix("0") { fraction.removeLast() }
    return (tenThousandths < 0 ? "-" : "") + "\(units).\(fraction)"
  }
}
