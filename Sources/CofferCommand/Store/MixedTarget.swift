import Coffer
import CofferEncryption

/// The store FROM of a copy, if its values have to stay protected: it encrypts them, or it is made for secrets.
enum ProtectedSource: Sendable {
  case encrypted(EncryptedEngine)
  case secrets

  /// Returns `nil` for a store of plain values.
  init?(_ engine: any StorageEngine) {
    if let encrypted = engine.as(EncryptedEngine.self) {
      self = .encrypted(encrypted)
    } else if engine.capabilities.contains(.secrecy) {
      self = .secrets
    } else {
      return nil
    }
  }
}

/// The store TO of a copy, if only some of its values are encrypted.
///
/// A copied value is encrypted if it is encrypted in FROM or in TO, and stored in plain otherwise: only the program
/// knows the declarations of its keys, and it refuses a plain value of an encrypted one.
struct MixedTarget: Sendable {
  /// How a value is stored in TO.
  struct Form: Sendable {
    let isEncrypted: Bool
    /// Whether TO has no value in this form.
    let isNew: Bool
  }

  /// The store as one whose encrypted values cannot be replaced.
  let plain: KeylessEngine
  private let hasKey: Bool
  /// FROM, if its values have to stay protected.
  private let from: ProtectedSource?

  /// Returns `nil` for a store that encrypts all its values, or none.
  init?(_ to: any StorageEngine, from: ProtectedSource?, _ sources: KeySources) async throws {
    if let keyless = to.as(KeylessEngine.self) {
      (plain, hasKey) = (keyless, false)
    } else if let engine = to.as(EncryptedEngine.self), !engine.encryptsAll,
      let ring = try await StoredKeyRingFacts(engine.base)
    {
      (plain, hasKey) = (KeylessEngine(engine.base, ring, sources), true)
    } else {
      return nil
    }
    self.from = from
  }

  /// Returns the error for a value that has to be encrypted, if the key of TO is not given.
  func refusal(of key: KeyName) -> StorageError? { hasKey ? nil : plain.refusal(of: key) }

  /// Returns the form of a value of FROM.
  func form(of entry: StoreEntry) async throws -> Form {
    let present: Bool?
    do { present = try await plain.base.summary(of: entry.key)?.isEncrypted } catch let error as StorageError
      where error.code == .damaged
    {
      return Form(isEncrypted: true, isNew: true)
    }
    let isEncrypted = if present == true { true } else { try await isEncryptedInSource(entry) }
    return Form(isEncrypted: isEncrypted, isNew: present != isEncrypted)
  }

  private func isEncryptedInSource(_ entry: StoreEntry) async throws -> Bool {
    guard let from else { return false }
    // Every secret of a store that is made for them is one.
    guard case .encrypted(let from) = from, !from.encryptsAll else { return true }
    // A value that was changed since the snapshot counts as encrypted.
    guard let summary = try await from.base.summary(of: entry.key), summary.revision == entry.revision else {
      return true
    }
    return summary.isEncrypted
  }
}
