import CofferCZlib
package import CofferCore
package import Foundation

/// CRC-32 (as in zlib, RFC 1952) of the key's size and bytes and of the value, to which ``bound(_:to:)`` adds the
/// revision. It finds damage, not tampering.
func checksum(_ key: StoreKey, _ value: UnsafeRawBufferPointer) -> UInt32 {
  key.withBytes { name in
    var sum = crc(0, UInt16(truncatingIfNeeded: name.count).littleEndian)
    sum = crc(sum, name)
    return crc(sum, value)
  }
}

/// The same of bytes alone.
package func checksumOfBytes(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
  guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count > 0 else { return 0 }
  return UInt32(crc32(0, start, UInt32(bytes.count)))
}

package func checksum(_ key: StoreKey, _ value: Data) -> UInt32 {
  value.withUnsafeBytes { checksum(key, $0) }
}

/// Goes on with the checksum of a key and a value over the value's attributes; it stays as it is where there are none.
func including(_ attributes: UnsafeRawBufferPointer, in checksum: UInt32) -> UInt32 {
  guard !attributes.isEmpty else { return checksum }
  return crc(crc(checksum, attributes), UInt16(truncatingIfNeeded: attributes.count).littleEndian)
}

/// The checksum of a row: of its key, its value and attributes, and its revision.
func bound(_ checksum: UInt32, to revision: StoreRevision) -> UInt32 { crc(checksum, revision.rawValue.littleEndian) }

/// Goes on with a checksum over more bytes.
func crc(_ sum: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
  guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count > 0 else { return sum }
  return UInt32(truncatingIfNeeded: crc32(UInt(sum), start, UInt32(bytes.count)))
}

func crc(_ sum: UInt32, _ number: some FixedWidthInteger) -> UInt32 {
  withUnsafeBytes(of: number) { crc(sum, $0) }
}
