public import CofferCore
import Foundation

/// The encryption and decryption of all values of a store, which nobody else uses meanwhile: the phase of the key ring
/// makes other handles refuse it.
extension EncryptedEngine {
  /// Encrypts the values of a store that holds plain ones, or continues to do so. A store of which only declared keys
  /// are encrypted becomes one whose values all are, unless the configuration declares keys. A store whose decryption
  /// was begun is encrypted again.
  ///
  /// ```swift
  /// let report = try await EncryptedEngine.encrypt(base, key: key).result()
  /// let engine = try await EncryptedEngine.open(base, key: key)
  /// ```
  ///
  /// Close every other handle of the store before, in every process. Until it is complete, also if the process ends
  /// before, handles with encryption do not open (`encryptionUnfinished`), and those without it can store no values any
  /// more (`keyUnavailable`). A value that cannot be read is a failure of the report and stays as it is.
  /// The encryption ends beside it, but with hidden names not beside a damaged plain one: remove that, and encrypt the
  /// store again. Afterwards the free space of the files and the log are freed of the plain
  /// values if the store has up to 16 MiB (``KeyRotation/Report/isScrubbed``); otherwise call ``scrub()``. Backups and
  /// the quarantine keep them; see `docs/security.md`.
  /// - Parameters:
  ///   - base: the engine of the store.
  ///   - key: the source of the root key.
  ///   - configuration: the options; the settings are those of a store that has no key ring yet.
  ///   - accepts: whether the store is anchored as it is although its anchor knows an encrypted store, as
  ///     ``acceptRollback(of:key:configuration:)`` does: after a plain backup was restored, or the store was decrypted.
  ///     `false` by default.
  /// - Returns: the running encryption.
  /// - Throws: the errors of opening an encrypted store; `readOnly`; those of
  ///   ``acceptRollback(of:key:configuration:)``.
  public static func encrypt(
    _ base: any StorageEngine, key: RootKeySource,
    configuration: EncryptedEngine.Configuration = EncryptedEngine.Configuration(),
    acceptingRollback accepts: Bool = false
  ) async throws -> KeyRotation.Run {
    let reader = RootKeyReader(key)
    return try await encrypt(base, configuration: configuration, acceptingRollback: accepts) {
      try await reader.rootKey(for: $0)
    }
  }

  /// Encrypts the values of a store with a root key that is derived already.
  package static func encrypt(
    _ base: any StorageEngine, configuration: EncryptedEngine.Configuration, acceptingRollback accepts: Bool = false,
    root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> KeyRotation.Run {
    if accepts { try checkAcceptance(of: base, configuration) }
    try checkRotation(of: base)
    var isNew = false
    // That of a store which was encrypted before.
    var earlier: KeyRing.Phase?
    let engine = try await open(base, configuration, acceptingRollback: accepts, serving: .encrypting) { store in
      try await store.open(
        settings: configuration.settings, coverage: configuration.coverage, ifMissing: .createForPlainValues
      ) { derivation in
        isNew = derivation == nil
        return try await root(derivation)
      }
    } changing: { store, open in
      let extends = open.ring.coverage == .declared && configuration.coverage == .all
      let isExtended = open.ring.phase == .complete && open.ring.coverage != configuration.coverage
      earlier = isNew || isExtended ? nil : open.ring.phase
      guard extends || open.ring.phase != .encrypting else { return open }
      return try await store.update(open, refusingOlder: configuration.rollbackProtection != nil) { ring in
        if extends { ring.coverage = .all }
        ring.phase = .encrypting
      }
    }
    return engine.begin(.encryption, StoreOrigin()) { [earlier] engine, report in
      if let earlier { report.unexpectedValues = earlier == .complete ? report.changedValues : nil }
      // What cannot be read is refused afterwards as before, and must not keep the other values from being used. Beside
      // hidden names, a damaged one under a plain name would keep them from being listed.
      let leaves = report.failures.allSatisfy { $0.isUnreadable && !(engine.hidesNames && $0.isNamed) }
      guard leaves else { return engine.cipher.ring.primary.id.short }
      let final = try await engine.ciphers.update { $0.phase = .complete }
      report.isFinished = true
      report.isScrubbed = await engine.scrubsSmallFiles()
      try await engine.rollback?.close(final.ring.generation)
      return final.ring.primary.id.short
    }
  }

  /// Stores every value of an encrypted store in plain, and then removes the key ring: the store is an ordinary one
  /// afterwards. Continues what an earlier process has begun.
  ///
  /// Close every other handle of the store before, in every process: those with encryption throw
  /// `encryptionUnfinished` until it is complete, and `notFound` afterwards. A value that does not open keeps it from
  /// being completed: encrypt the store again, and remove that value. An anchor refuses the plain store afterwards
  /// (`rolledBack`), until it is removed or the store is accepted.
  /// - Parameters:
  ///   - base: the engine of the store.
  ///   - key: the source of the root key.
  ///   - configuration: the options.
  /// - Returns: the running decryption.
  /// - Throws: the errors of opening an encrypted store; `readOnly`; `unsupported` for a store without listings.
  public static func decrypt(
    _ base: any StorageEngine, key: RootKeySource,
    configuration: EncryptedEngine.Configuration = EncryptedEngine.Configuration()
  ) async throws -> KeyRotation.Run {
    let reader = RootKeyReader(key)
    return try await decrypt(base, configuration: configuration) { try await reader.rootKey(for: $0) }
  }

  /// Stores every value of an encrypted store in plain, with a root key that is derived already.
  package static func decrypt(
    _ base: any StorageEngine, configuration: EncryptedEngine.Configuration,
    root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> KeyRotation.Run {
    try checkRotation(of: base)
    let engine = try await open(base, configuration, serving: .decrypting) { store in
      try await store.open(settings: configuration.settings, ifMissing: .refuse, root: root)
    } changing: { store, open in
      try await store.update(open, refusingOlder: configuration.rollbackProtection != nil) { $0.phase = .decrypting }
    }
    return engine.begin(.decryption, StoreOrigin()) { engine, report in
      guard report.isComplete else { return engine.cipher.ring.primary.id.short }
      try await engine.ciphers.removeRing()
      return nil
    }
  }
}
