import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// Envelopes that were changed, cut, extended, moved or sealed for other circumstances.
struct EnvelopeTamperTests {
  private let fixture: EnvelopeFixture

  init() throws { fixture = try EnvelopeFixture() }

  /// What opening reports for a changed bit of each part of an envelope.
  private func expected(_ offset: Int, _ changed: Data) -> Set<String> {
    switch offset {
    case 0..<5: ["damaged"]
    case 5..<8: ["newerFormat", "authentication"]
    case 32..<64: ["keyUnavailable"]
    default: ["authentication"]
    }
  }

  @Test("Every changed bit is noticed", arguments: EnvelopeFixture.ways)
  func bits(way: EnvelopeWay) throws {
    let envelope = try fixture.seal(Data("a token of the user".utf8), way)
    for offset in envelope.indices {
      for bit in 0..<8 {
        var changed = envelope
        changed[offset] ^= 1 << bit
        let failure = try #require(fixture.failure(changed), "bit \(bit) of byte \(offset)")
        #expect(expected(offset, changed).contains(failure), "bit \(bit) of byte \(offset): \(failure)")
      }
    }
    #expect(fixture.failure(envelope) == nil)
  }

  @Test("Every other length is noticed", arguments: EnvelopeFixture.ways)
  func lengths(way: EnvelopeWay) throws {
    let envelope = try fixture.seal(Data(count: 100), way)
    for count in 0..<envelope.count {
      let failure = try #require(fixture.failure(envelope.prefix(count)), "the first \(count) bytes")
      #expect(failure == (count < Envelope.overhead ? "damaged" : "authentication"), "the first \(count) bytes")
    }
    for count in 1...64 {
      #expect(fixture.failure(envelope + Data(count: count)) == "authentication")
      #expect(fixture.failure(Data(count: count) + envelope) == "damaged")
    }
    #expect(fixture.failure(envelope + envelope) == "authentication")
    #expect(fixture.failure(envelope.dropFirst(5)) == "damaged")
  }

  @Test("An envelope opens only where it was sealed", arguments: EnvelopeFixture.ways)
  func moved(way: EnvelopeWay) throws {
    let envelope = try fixture.seal(Data("token".utf8), way)
    func failure(_ change: (inout EnvelopeContext) throws -> Void) rethrows -> String? {
      var context = fixture.context
      try change(&context)
      return fixture.failure(envelope, in: context)
    }
    let other = try randomBytes(16)
    #expect(failure { _ in } == nil)
    #expect(failure { $0.store = Array(other) } == "authentication")
    #expect(failure { $0.store = [] } == "authentication")
    #expect(failure { $0.store.append(0) } == "authentication")
    #expect(failure { $0.format = 4 } == "authentication")
    #expect(failure { $0.key = "user/tokem" } == "authentication")
    #expect(failure { $0.key = "user/token/2" } == "authentication")
    #expect(failure { $0.key = "user" } == "authentication")
    #expect(failure { $0.attributes = .none } == "authentication")
    #expect(failure { $0.attributes[.tenant] = "red" } == "authentication")
    #expect(failure { $0.attributes[.tenant] = "blue\u{0}" } == "authentication")
  }

  @Test("Bytes that move from one field of the context to the next make a difference")
  func injective() throws {
    let store = Data(fixture.context.store)
    let contexts = [
      EnvelopeContext(store: store, key: "ab"), EnvelopeContext(store: store + Data("a".utf8), key: "b"),
      EnvelopeContext(store: store.dropLast(), key: KeyName("\u{0}ab")),
      EnvelopeContext(store: store, key: "a"), EnvelopeContext(store: store, key: "ab", format: 1),
      // "é" as one scalar and as two is equal text, and two keys.
      EnvelopeContext(store: store, key: KeyName("\u{E9}")), EnvelopeContext(store: store, key: KeyName("e\u{301}")),
    ]
    for (index, context) in contexts.enumerated() {
      let envelope = try Envelope.seal(
        Data("v".utf8), under: fixture.key, context: context, algorithm: .aes256GCM, isPadded: false)
      for (other, context) in contexts.enumerated() {
        #expect(fixture.failure(envelope, in: context) == (other == index ? nil : "authentication"))
      }
    }
  }

  @Test("A newer version, algorithm or flag is reported as such, and is not opened")
  func newer() throws {
    let envelope = try fixture.seal(Data("token".utf8))
    for (offset, value) in [(5, 2), (5, 0), (5, 255), (6, 0), (6, 3), (7, 2), (7, 129)] as [(Int, UInt8)] {
      var changed = envelope
      changed[offset] = value
      #expect(fixture.failure(changed) == "newerFormat")
      let error = try storageError { _ = try EnvelopeHeader(of: changed) }
      #expect(error.code == .newerFormat)
      #expect(error.description.contains("Update the program"))
    }
  }

  @Test("Bytes that are no envelope are damage")
  func others() throws {
    for bytes in [Data(), Data([0xFF]), Data("plain".utf8), Data(count: 80), Data([0xFF] + "CENV".utf8)] {
      #expect(fixture.failure(bytes) == "damaged")
      #expect(try storageError { _ = try EnvelopeHeader(of: bytes) }.code == .damaged)
    }
  }

  @Test("A flag or algorithm that is known does not open the envelope of another")
  func swapped() throws {
    for way in EnvelopeFixture.ways {
      let envelope = try fixture.seal(Data(count: 63), way)
      for other in EnvelopeFixture.ways {
        var changed = envelope
        changed[6] = other.algorithm.rawValue
        changed[7] = other.isPadded ? 1 : 0
        #expect(fixture.failure(changed) == (changed == envelope ? nil : "authentication"))
      }
    }
  }

  @Test("Parts of two envelopes of one key make none")
  func mixed() throws {
    let (first, second) = (try fixture.seal(Data(count: 32)), try fixture.seal(Data(count: 32)))
    for cut in stride(from: 1, to: first.count, by: 1) where first.prefix(cut) != second.prefix(cut) {
      guard first.suffix(from: cut) != second.suffix(from: cut) else { continue }
      #expect(fixture.failure(first.prefix(cut) + second.suffix(from: cut)) == "authentication")
    }
  }
}
