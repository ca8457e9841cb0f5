import CofferCore
import CofferEncryption
import Foundation
import Testing

/// Envelopes of every version of the format, written by `scripts/envelopes.py`, which shares no code with Coffer. They
/// are opened for ever.
struct EnvelopeGoldenTests {
  private struct File: Decodable {
    struct Case: Decodable {
      let algorithm: UInt8
      let flags: UInt8
      let store: String
      let key: String
      let attributes: String
      let format: UInt8
      let value: String
      let envelope: String

      func context() throws -> EnvelopeContext {
        let attributes = try #require(ValueAttributes(encoded: Data(hex: attributes)))
        return EnvelopeContext(
          store: Data(hex: store), key: try KeyName(String(decoding: Data(hex: key), as: UTF8.self)),
          attributes: attributes, format: format)
      }
    }

    let dataKey: String
    let keyID: String
    let derivedKey: String
    let message: String
    let keyedHash: String
    let envelopes: [Case]
  }

  private struct TwoKeys: Decodable {
    let store: String
    let dataKeys: [String]
    let derivedKeys: [String]
    let associatedData: String
    let values: [String]
    let envelope: String
  }

  private func golden<Content: Decodable>(_ name: String) throws -> Content {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appendingPathComponent("Golden/\(name).json"))
    return try JSONDecoder().decode(Content.self, from: data)
  }

  @Test("Envelopes of format 1 open")
  func first() throws {
    let file: File = try golden("envelope-1")
    let key = try DataKey(SecretBytes(copying: Data(hex: file.dataKey)))
    #expect(file.envelopes.count == 60)
    for golden in file.envelopes {
      let envelope = Data(hex: golden.envelope)
      let header = try EnvelopeHeader(of: envelope)
      #expect(header.version == 1)
      #expect(header.algorithm.rawValue == golden.algorithm)
      #expect(header.isPadded == (golden.flags == 1))
      #expect(header.keyID == key.id)
      let value = try Envelope.open(envelope, context: golden.context()) { _ in key }
      #expect(value.hex == golden.value)
      let size = value.count + Envelope.maximumOverhead(of: value.count, isPadded: header.isPadded)
      #expect(envelope.count == size)
    }
  }

  @Test("Ids, derived keys and hashes of a data key are those of the other implementation")
  func derivations() throws {
    let file: File = try golden("envelope-1")
    let key = try DataKey(SecretBytes(copying: Data(hex: file.dataKey)))
    #expect(key.id.bytes.hex == file.keyID)
    #expect(key.id.short == file.keyID.prefix(8))
    #expect(try key.derivedKey(for: .init("names")).material.data.hex == file.derivedKey)
    #expect(try Data(file.message.utf8).withUnsafeBytes { try key.keyedHash(of: $0) }.hex == file.keyedHash)
  }

  /// The ciphertext is a solution of the equation that makes the tags of AES-256-GCM under two keys equal, so the
  /// cipher accepts it with both. The envelope names one of them by an id that commits to it.
  @Test("A ciphertext that opens with two keys is refused with the one that the envelope does not name")
  func commitment() throws {
    let file: TwoKeys = try golden("two-keys")
    let envelope = Data(hex: file.envelope)
    let keys = try file.dataKeys.map { try DataKey(SecretBytes(copying: Data(hex: $0))) }
    for (key, value) in zip(file.derivedKeys, file.values) {
      let cipher = try AEAD(.aes256GCM, key: SecretBytes(copying: Data(hex: key)))
      let opened = try cipher.open(
        Data(count: 12) + envelope.dropFirst(64), authenticating: Data(hex: file.associatedData))
      #expect(opened.hex == value)
    }
    let context = EnvelopeContext(store: Data(hex: file.store), key: "user/token")
    #expect(try Envelope.open(envelope, context: context) { _ in keys[0] }.hex == file.values[0])
    // A ring that returns another key than the requested one, by mistake or because it was changed.
    #expect(throws: AuthenticationFailure()) { try Envelope.open(envelope, context: context) { _ in keys[1] } }
    // The envelope says that it has the other key: then it derives, and authenticates, something else.
    var renamed = envelope
    renamed.replaceSubrange(32..<64, with: keys[1].id.bytes)
    #expect(throws: AuthenticationFailure()) { try Envelope.open(renamed, context: context) { _ in keys[1] } }
  }
}
