import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

struct EnvelopeTests {
  private var fixture: EnvelopeFixture

  init() throws { fixture = try EnvelopeFixture() }

  @Test("A value of any size opens", arguments: EnvelopeFixture.ways)
  func sizes(way: EnvelopeWay) throws {
    for count in Array(0...130) + [255, 256, 4_095, 4_096, 65_537, 1 << 20] {
      let value = try randomBytes(count)
      let envelope = try fixture.seal(value, way)
      #expect(envelope.count == count + Envelope.maximumOverhead(of: count, isPadded: way.isPadded))
      #expect(try fixture.open(envelope) == value)
    }
    #expect(Envelope.overhead == 80)
  }

  @Test("A value and an envelope may be slices", arguments: EnvelopeFixture.ways)
  func slices(way: EnvelopeWay) throws {
    let value = Data("--token--".utf8)[2..<7]
    let envelope = try fixture.seal(value, way)
    let slice = (Data([1, 2, 3]) + envelope + Data([4])).dropFirst(3).dropLast()
    #expect(try fixture.open(slice) == value)
    #expect(try EnvelopeHeader(of: slice) == EnvelopeHeader(of: envelope))
  }

  @Test("The header says what is needed to open an envelope", arguments: EnvelopeFixture.ways)
  func header(way: EnvelopeWay) throws {
    let envelope = try fixture.seal(Data("token".utf8), way)
    let header = try EnvelopeHeader(of: envelope)
    #expect(header.version == 1)
    #expect(header.algorithm == way.algorithm)
    #expect(header.isPadded == way.isPadded)
    #expect(header.keyID == fixture.key.id)
    #expect(SealedValue.isPresent(in: envelope))
    #expect(!SealedValue.isPresent(in: Data("plain".utf8)))
    #expect(!SealedValue.isPresent(in: Data()))
  }

  @Test("Two envelopes of one value have nothing in common but the header's constants")
  func salts() throws {
    let value = Data(count: 64)
    let envelopes = try (0..<1_000).map { _ in try fixture.seal(value) }
    #expect(Set(envelopes.map { $0[8..<32] }).count == 1_000)
    #expect(Set(envelopes.map { $0[64..<128] }).count == 1_000)
    #expect(Set(envelopes.map { $0[0..<8] + $0[32..<64] }).count == 1)
  }

  @Test("A key that is not there is reported by whoever looks it up")
  func absentKey() throws {
    let other = try EnvelopeFixture()
    let envelope = try fixture.seal(Data("token".utf8))
    #expect(other.failure(envelope) == "keyUnavailable")
  }
}
