import CofferCZlib
package import Foundation

/// Returns the CRC-32 (zlib, RFC 1952) of a key's size and bytes and of a value; ``bound(_:to:)`` adds the revision.
///
/// It detects damage, not tampering.
package func checksum(_ key: KeyName, _ value: UnsafeRawBufferPointer) -> UInt32 {
  key.withBytes { name in
    var sum = crc(0, UInt16(truncatingIfNeeded: name.count).littleEndian)
    sum = crc(sum, name)
    return crc(sum, value)
  }
}

/// Returns the CRC-32 of bytes alone.
package func checksumOfBytes(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
  crc(0, bytes)
}

package func checksum(_ key: KeyName, _ value: Data) -> UInt32 {
  value.withUnsafeBytes { checksum(key, $0) }
}

/// Extends the checksum of a key and a value with the value's encoded attributes; without attributes it is unchanged.
package func including(_ attributes: UnsafeRawBufferPointer, in checksum: UInt32) -> UInt32 {
  guard !attributes.isEmpty else { return checksum }
  return crc(crc(checksum, attributes), UInt16(truncatingIfNeeded: attributes.count).littleEndian)
}

/// Returns the checksum of a row, which covers its key, value, attributes and revision.
package func bound(_ checksum: UInt32, to revision: StoreRevision) -> UInt32 {
  crc(checksum, revision.rawValue.littleEndian)
}

/// Extends a checksum with more bytes.
package func crc(_ sum: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
  guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count > 0 else { return sum }
  return coffer_crc32(sum, start, bytes.count)
}

package func crc(_ sum: UInt32, _ number: some FixedWidthInteger) -> UInt32 {
  withUnsafeBytes(of: number) { crc(sum, $0) }
}
