import CofferCore
import Foundation
import Testing

/// The checksums of rows are the CRC-32 of RFC 1952, however a processor computes them.
struct ChecksumTests {
  @Test func checksumIsThatOfTheDefinitionForEachSizeAndStart() {
    let bytes = (0..<400).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 3) }
    for count in 0...300 {
      for start in [0, 1, 7, 16] {
        let part = Array(bytes[start..<(start + count)])
        let seed = UInt32(truncatingIfNeeded: count &* 0x9E37_79B9)
        #expect(part.withUnsafeBytes { crc(seed, $0) } == Self.defined(seed, part), "\(count) bytes at \(start)")
      }
    }
    #expect(Array("123456789".utf8).withUnsafeBytes { checksumOfBytes($0) } == 0xCBF4_3926)
  }

  private static func defined(_ seed: UInt32, _ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~seed) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
  }
}
