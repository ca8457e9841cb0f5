import CofferCore
import CofferCrypto
package import Foundation

/// A digest of the versions of all values, which changes with each of them without reading the others: their number,
/// and the sum modulo 2^256 of a keyed hash of each (MSet-Add-Hash of Clarke, Devadas, van Dijk, Gassend and Suh,
/// "Incremental Multiset Hash Functions and Their Application to Memory Integrity Checking", Asiacrypt 2003). The sum
/// is kept in an envelope only.
package struct ValueDigest: Hashable, Sendable {
  static let size = 40

  private(set) var count: UInt64 = 0
  private var sum = WideNumber()

  init() {}

  /// - Parameter bytes: the ``size`` bytes of a digest.
  package init(_ bytes: Data) {
    count = bytes.number(at: 0)
    sum = WideNumber(bytes.dropFirst(8))
  }

  /// The count and the sum, most significant byte first.
  var bytes: Data {
    var bytes = Data()
    bytes.append(number: count)
    sum.append(to: &bytes)
    return bytes
  }

  /// Adds a version of a value; `nil` is none.
  mutating func add(_ version: ValueVersion?) {
    guard let version else { return }
    count &+= 1
    sum.add(version.hash)
  }

  /// Removes a version of a value; `nil` is none.
  mutating func remove(_ version: ValueVersion?) {
    guard let version else { return }
    count &-= 1
    sum.subtract(version.hash)
  }
}

/// An unsigned number of 256 bits.
///
/// Not a SIMD type: one of 32 bytes demands an alignment that the frames of asynchronous functions do not have, and an
/// optimized build crashed.
struct WideNumber: Hashable, Sendable {
  // The least significant part is the first.
  private var part0: UInt64 = 0
  private var part1: UInt64 = 0
  private var part2: UInt64 = 0
  private var part3: UInt64 = 0

  init() {}

  /// - Parameter bytes: 32 bytes, the most significant one first.
  init(_ bytes: Data) {
    (part3, part2) = (bytes.number(at: 0), bytes.number(at: 8))
    (part1, part0) = (bytes.number(at: 16), bytes.number(at: 24))
  }

  func append(to bytes: inout Data) { for part in [part3, part2, part1, part0] { bytes.append(number: part) } }

  /// Adds another number modulo 2^256.
  mutating func add(_ other: WideNumber) {
    var carry: UInt64 = 0
    part0.add(other.part0, &carry)
    part1.add(other.part1, &carry)
    part2.add(other.part2, &carry)
    part3.add(other.part3, &carry)
  }

  /// Subtracts another number modulo 2^256.
  mutating func subtract(_ other: WideNumber) {
    var borrow: UInt64 = 0
    part0.subtract(other.part0, &borrow)
    part1.subtract(other.part1, &borrow)
    part2.subtract(other.part2, &borrow)
    part3.subtract(other.part3, &borrow)
  }
}

extension UInt64 {
  fileprivate mutating func add(_ other: UInt64, _ carry: inout UInt64) {
    let (sum, first) = addingReportingOverflow(other)
    let (result, second) = sum.addingReportingOverflow(carry)
    (self, carry) = (result, first || second ? 1 : 0)
  }

  fileprivate mutating func subtract(_ other: UInt64, _ borrow: inout UInt64) {
    let (difference, first) = subtractingReportingOverflow(other)
    let (result, second) = difference.subtractingReportingOverflow(borrow)
    (self, borrow) = (result, first || second ? 1 : 0)
  }
}

/// The keyed hash of a stored key and the version of its value.
struct ValueVersion: Hashable, Sendable {
  let hash: WideNumber

  /// Returns the version of a stored value; `nil` for one that is not covered: a plain one, and one that expires, which
  /// the store removes by itself.
  init?(of key: StoreKey, _ attributes: ValueAttributes, under keys: FreshnessKeys) throws {
    guard attributes.isMarked, attributes.expires == nil else { return nil }
    let version = attributes[.version]
    var message = Data([version == nil ? 0 : 1])
    message.append(number: version ?? 0)
    message += Data(key.string.utf8)
    hash = WideNumber(try message.withUnsafeBytes { try keys.versions.keyedHash(of: $0) })
  }
}
