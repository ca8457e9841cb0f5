import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

struct EnvelopePaddingTests {
  private let fixture: EnvelopeFixture

  init() throws { fixture = try EnvelopeFixture() }

  @Test("Values up to 63 bytes have one size, and few sizes follow")
  func buckets() throws {
    let sizes = (0..<64).map { EnvelopePadding.bucket(of: $0) }
    #expect(Set(sizes) == [64])
    let documented = [64, 72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176, 192, 208, 224, 240, 256, 272]
    #expect(Set((0..<272).map { EnvelopePadding.bucket(of: $0) }).sorted() == documented)
    // All sizes up to 1 MiB are in few buckets.
    #expect(Set((0...(1 << 20)).map { EnvelopePadding.bucket(of: $0) }).count == 274)
  }

  @Test("A bucket is larger than its value by at most an eighth")
  func waste() {
    for count in Array(64...70_000) + [1 << 20, 1 << 24 + 1, 1 << 30 + 1, 1 << 31] {
      let bucket = EnvelopePadding.bucket(of: count)
      #expect(bucket > count)
      #expect(bucket - count <= count / 8, "\(count)")
      #expect(EnvelopePadding.bucket(of: bucket - 1) == bucket, "\(count)")
    }
  }

  @Test("Values of one bucket have envelopes of one size")
  func sizes() throws {
    let way = EnvelopeWay(algorithm: .aes256GCM, isPadded: true)
    let sizes = try (0..<64).map { try fixture.seal(Data(count: $0), way).count }
    #expect(Set(sizes) == [64 + Envelope.overhead])
  }

  @Test("Values that look like padding keep their bytes")
  func ambiguous() throws {
    let way = EnvelopeWay(algorithm: .chaCha20Poly1305, isPadded: true)
    let values: [[UInt8]] = [
      [], [0], [0x80], [0x80, 0], [0, 0x80, 0, 0], Array(repeating: 0x80, count: 63), Array(repeating: 0, count: 64),
      Array(repeating: 0x80, count: 64) + [0, 0, 0],
    ]
    for value in values { #expect(Array(try fixture.open(fixture.seal(Data(value), way))) == value) }
  }

  @Test("Padding that no writer produces is refused")
  func malformed() {
    let none = Data(count: 64)
    #expect(EnvelopePadding.count(in: none) == nil)
    #expect(EnvelopePadding.count(in: Data()) == nil)
    #expect(EnvelopePadding.count(in: Data([0x80])) == nil)  // not a bucket
    #expect(EnvelopePadding.count(in: Data([0x80]) + Data(count: 63)) == 0)
    #expect(EnvelopePadding.count(in: Data([0x80]) + Data(count: 71)) == nil)  // a larger bucket than needed
    #expect(EnvelopePadding.count(in: Data(count: 63) + [0x80]) == 63)
    #expect(EnvelopePadding.count(in: Data(count: 63) + [0x81]) == nil)
  }
}
