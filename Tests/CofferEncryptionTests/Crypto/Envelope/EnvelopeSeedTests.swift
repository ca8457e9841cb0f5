import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// A short part of what the fuzzer of envelopes does, always with the same seed.
struct EnvelopeSeedTests {
  private struct Generator: RandomNumberGenerator {
    var state: UInt64 = 0x5EED

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
    }
  }

  @Test("Arbitrary bytes and changed envelopes are refused, and nothing crashes")
  func seeds() throws {
    let fixture = try EnvelopeFixture()
    let sealed = try EnvelopeFixture.ways.map { try fixture.seal(Data("a token of the user".utf8), $0) }
    var generator = Generator()
    for round in 0..<5_000 {
      var bytes = Data()
      if round.isMultiple(of: 2) {
        bytes = Data(
          (0..<Int.random(in: 0..<200, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) })
        if round.isMultiple(of: 4) { bytes = sealed[0].prefix(round % 64) + bytes }
      } else {
        bytes = sealed[round / 2 % sealed.count]
        for _ in 0...Int.random(in: 0..<3, using: &generator) {
          let index = Int.random(in: 0..<bytes.count, using: &generator)
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: bytes[index] ^= UInt8.random(in: 1...255, using: &generator)
          case 1: bytes.remove(at: index)
          case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
          default: bytes = bytes.prefix(max(1, index))
          }
        }
      }
      guard !sealed.contains(bytes) else { continue }
      #expect(fixture.failure(bytes) != nil, "round \(round)")
      if let count = EnvelopePadding.count(in: bytes) { #expect(EnvelopePadding.bucket(of: count) == bytes.count) }
    }
  }
}
