import CofferCore
import Foundation

/// The keys under which a store with hidden names keeps its values.
///
/// The stored key of a name is a keyed hash, so that whoever has the store but not its key learns nothing about the
/// names but which are equal. The name itself is sealed beside the value.
final class OpaqueNames: Sendable {
  /// A name as it is stored.
  struct StoredName: Sendable {
    /// The key of the value: base64url of HMAC-SHA-256, 43 characters.
    let key: KeyName
    /// The attributes of an envelope with the name in one of its own: those of a value that has no others.
    let attributes: ValueAttributes
  }

  private struct Caches {
    var keys = GenerationCache<KeyName, KeyName>(capacity: 16_384)
    var stored = GenerationCache<KeyName, StoredName>(capacity: 4_096)
    var names = GenerationCache<KeyName, KeyName>(capacity: 16_384)
  }

  /// The size of each stored key.
  static let size = 43

  private let ring: KeyRing
  private let hashKey: DataKey
  private let caches = Locked(Caches())

  init(_ ring: KeyRing) throws {
    self.ring = ring
    hashKey = try ring.indexKey.derivedKey(for: .init("opaque names"))
  }

  // MARK: Keys

  /// Returns the key under which the value of a name is stored.
  func key(of name: KeyName) throws -> KeyName {
    if let key = caches.withLock({ $0.keys.value(name) }) { return key }
    let key = try KeyName(name.withBytes { try hashKey.keyedHash(of: $0) }.base64URL)
    caches.withLock { caches in
      caches.keys.insert(key, for: name)
      caches.names.insert(name, for: key)
    }
    return key
  }

  /// Returns the name of a stored key if this process has used it lately.
  func knownName(of key: KeyName) -> KeyName? { caches.withLock { $0.names.value(key) } }

  // MARK: Sealed names

  /// Returns everything that is stored of a name. It is the same for each commit of this handle under one ring.
  func stored(_ name: KeyName) throws -> StoredName {
    if let stored = caches.withLock({ $0.stored.value(name) }) { return stored }
    let sealed = try Envelope.seal(
      name.withBytes { Data($0) }, under: ring.primary, context: context, algorithm: ring.settings.algorithm.cipher,
      isPadded: ring.settings.padsValues)
    var attributes = ValueAttributes.none.marked()
    attributes[.sealedName] = AttributeBytes(sealed)
    let stored = StoredName(key: try key(of: name), attributes: attributes)
    caches.withLock { $0.stored.insert(stored, for: name) }
    return stored
  }

  /// Returns the name that is sealed beside the value of a stored key.
  /// - Throws: `keyUnavailable` if its key is not in the ring; otherwise any error if it does not open.
  func name(in sealed: AttributeBytes, of key: KeyName) throws -> KeyName {
    if let name = knownName(of: key) { return name }
    let bytes = try Envelope.open(Data(sealed.bytes), context: context) { try ring.key($0) }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw AuthenticationFailure() }
    let name = try KeyName(text)
    // The hash binds the name to the stored key, so that names cannot be exchanged.
    guard try self.key(of: name) == key else { throw AuthenticationFailure() }
    return name
  }

  /// The context of each sealed name; the format of values is 1.
  private var context: EnvelopeContext {
    EnvelopeContext(store: ring.storeID, key: "encryption.k", attributes: .none, format: 2)
  }
}

extension Data {
  /// The bytes as unpadded base64url (RFC 4648, section 5).
  var base64URL: String {
    String(decoding: base64EncodedData().prefix { $0 != UInt8(ascii: "=") }.map(Self.urlSafe), as: UTF8.self)
  }

  private static func urlSafe(_ digit: UInt8) -> UInt8 {
    switch digit {
    case UInt8(ascii: "+"): UInt8(ascii: "-")
    case UInt8(ascii: "/"): UInt8(ascii: "_")
    default: digit
    }
  }
}
