import Coffer
import CofferEncryption
import Foundation

/// What the key ring of an encrypted store states without its key. It is authenticated only when the ring is opened.
struct StoredKeyRingFacts: Sendable {
  private let header: KeyRingHeader
  /// The revision of the ring's first record; `nil` if that is missing or damaged.
  let revision: StoreRevision?
  /// Whether one of the two records is missing, damaged or older than the other.
  let isDegraded: Bool
  /// Whether the store was opened with an anchor once.
  let hasAnchor: Bool

  /// Reads the key ring of a store; `nil` for a store without one.
  /// - Throws: `damaged` if neither of its records is intact; `newerFormat`.
  init?(_ engine: any StorageEngine) async throws {
    guard let header = try await KeyRingStore.inspect(engine) else { return nil }
    self.header = header
    var revision: StoreRevision?
    var contents: [Data?] = []
    for name in SystemRecord.Name.keyRings {
      let record = try? await engine.record(name)
      contents.append(record.flatMap { (try? KeyRingHeader(of: $0.content)) == nil ? nil : $0.content })
      if name == SystemRecord.Name.keyRing { revision = record?.revision }
    }
    self.revision = revision
    hasAnchor = try await engine.hasRollbackRecord()
    isDegraded = contents[0] == nil || contents[0] != contents[1]
  }

  /// Whether the key is a passphrase; otherwise it is key material.
  var needsPassphrase: Bool { if case .passphrase = header.derivation.method { true } else { false } }

  /// Whether all values are encrypted, and not only those of keys that a program declares.
  var coversAll: Bool { header.coverage == .all }

  /// The kind of key in words.
  var keyInWords: String { needsPassphrase ? "a passphrase" : "key material" }
}

extension StoreLocation {
  /// The location of the store behind an encrypted one; otherwise this one.
  var unencrypted: StoreLocation { if case .encrypted(let base) = self { base } else { self } }

  /// Whether the location asks for an encrypted store.
  var isEncrypted: Bool { if case .encrypted = self { true } else { false } }
}
