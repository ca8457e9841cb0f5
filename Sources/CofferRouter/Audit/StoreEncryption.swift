import CofferEncryption

extension AuditReport {
  /// How a store is encrypted by this library, as its key ring states. It never contains key material.
  public struct StoreEncryption: Codable, Hashable, Sendable {
    /// The kind of the root key's source.
    public enum Source: String, Codable, Sendable {
      /// Random bytes, such as of a keyring, a file or a provider.
      case keyMaterial
      /// A passphrase, made expensive to guess with scrypt.
      case passphrase
    }

    /// The location of the store.
    public var store: String
    /// Whether all values are encrypted, and not only those of keys that declare it.
    public var coversAll: Bool
    /// The kind of the root key's source.
    public var source: Source
    /// The cipher of values whose keys declare none, or `nil` if the key ring was not opened.
    public var cipher: String?
    /// Whether names are hidden, or `nil` as above.
    public var hidesNames: Bool?
    /// Whether values are padded, or `nil` as above.
    public var padsValues: Bool?
    /// The number of keys that only decrypt older values, until a rotation removes them; `nil` as above.
    public var retiredKeys: Int?

    /// A sentence without a full stop, such as `All values encrypted, AES-256-GCM, key material, names hidden`.
    public var words: String {
      var parts = [coversAll ? "All values encrypted" : "Values of declared keys encrypted"]
      if let cipher { parts.append(cipher) }
      parts.append(source == .passphrase ? "passphrase" : "key material")
      guard cipher != nil else { return parts.joined(separator: ", ") + ", key ring not opened" }
      parts.append(hidesNames == true ? "names hidden" : "names in plain")
      parts.append(padsValues == true ? "sizes padded" : "sizes exact")
      if let retiredKeys, retiredKeys > 0 { parts.append("rotation unfinished") }
      return parts.joined(separator: ", ")
    }
  }
}

extension AuditReport.StoreEncryption {
  /// Describes the encryption of an open store; `nil` if it has none. Opens no key ring.
  /// - Throws: `StorageError` if the key ring cannot be read.
  init?(of engine: any StorageEngine) async throws {
    guard let header = try await KeyRingStore.inspect(engine) else { return nil }
    store = engine.description
    coversAll = header.coverage == .all
    source = if case .passphrase = header.derivation.method { .passphrase } else { .keyMaterial }
    guard let ring = engine.as(EncryptedEngine.self)?.keyRing else { return }
    cipher = ring.settings.algorithm.rawValue
    (hidesNames, padsValues) = (ring.settings.hidesNames, ring.settings.padsValues)
    retiredKeys = ring.entries.count { $0.state == .retired }
  }
}
