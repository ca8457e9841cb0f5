package import Foundation

/// The padding of values whose size is hidden: the byte 0x80, then zeros up to a bucket (ISO/IEC 7816-4).
///
/// Buckets are 64 bytes and, above that, the sizes of Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted
/// Files and Communication with PURBs", 2019): numbers whose binary form ends in zeros. A value of 64 bytes or more
/// grows by at most an eighth.
package enum EnvelopePadding {
  static let smallestBucket = 64
  private static let mark: UInt8 = 0x80

  /// Returns the size of the bucket of a value of `count` bytes; at least one byte more.
  package static func bucket(of count: Int) -> Int {
    let needed = count + 1  // for the mark
    guard needed > smallestBucket else { return smallestBucket }
    let exponent = Int.bitWidth - 1 - needed.leadingZeroBitCount
    let significant = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = 1 << (exponent - significant) - 1
    return (needed + mask) & ~mask
  }

  /// Writes the padding behind a value of `count` bytes in a buffer that has the size of its bucket.
  static func write(in bytes: UnsafeMutableRawBufferPointer, after count: Int) {
    bytes[count] = mark
    let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(count + 1)...])
    rest.initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// Returns the size of the value in front of its padding, or `nil` if `write` does not produce these bytes.
  package static func count(in padded: Data) -> Int? {
    padded.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
      // The bytes are authentic, so the duration reveals nothing to somebody who changed them.
      guard let count = bytes.lastIndex(where: { $0 != 0 }), bytes[count] == mark, bucket(of: count) == bytes.count
      else { return nil }
      return count
    }
  }
}
