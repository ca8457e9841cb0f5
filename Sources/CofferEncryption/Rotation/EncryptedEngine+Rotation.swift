public import CofferCore
import CofferCrypto
import Foundation

extension EncryptedEngine {
  /// Encrypts every value under a new key, and then removes the old keys from the key ring.
  ///
  /// The store is read and written meanwhile, by any process; new values are encrypted under the new key from the
  /// beginning. If an earlier rotation was interrupted, it is continued under its key. Subscribers receive each
  /// rewritten value as a change, and its revision is a new one. A value that cannot be read stays as it is, and so do
  /// the keys that it may need.
  /// - Parameters:
  ///   - prefix: the prefix of the keys to write anew; `nil`, the default, for all. After a part of them the old keys
  ///     stay, as the others need them.
  ///   - origin: the origin of the commits.
  /// - Returns: the running rotation.
  /// - Throws: `readOnly`, `unsupported` for a store without listings, and `busy` while the store is being encrypted or
  ///   decrypted.
  public func rotate(prefix: StoreKey? = nil, from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation {
    try checkRotation()
    let clock = clock
    let addPrimary = { @Sendable (ring: inout KeyRing) in
      guard ring.phase == .complete else { throw StorageError.isTransitional(self.description) }
      try ring.addPrimary(now: clock.now())
    }
    var isContinued = false
    let start = try await ciphers.update { ring in
      guard ring.phase == .complete else { throw StorageError.isTransitional(self.description) }
      isContinued = ring.entries.contains { $0.state == .retired }
      if !isContinued { try addPrimary(&ring) }
    }
    return begin(.newKey, continuing: isContinued, prefix, origin, target: start.ring.primary.id) { engine in
      // Values that cannot be read keep an old key in the ring: there is nothing to continue.
      try await engine.ciphers.update(addPrimary).ring.primary.id
    } finish: { engine, target, report in
      guard prefix == nil, report.isComplete, let target else { return engine.cipher.ring.primary.id.short }
      // Values that a damage policy has replaced are kept, and would need the old keys, too.
      try await engine.resealKeptValues()
      var removed: [String] = []
      let final = try await engine.ciphers.update { ring in
        removed = []
        // Another process may have begun the next rotation, whose old key is still needed.
        guard ring.primary.id == target else { return }
        for entry in ring.entries where entry.state == .retired {
          try ring.remove(entry.id)
          removed.append(entry.id.short)
        }
      }
      report.removedKeys = removed
      return final.ring.primary.id.short
    }
  }

  /// Encrypts the values of a store that holds plain ones, or continues to do so.
  ///
  /// ```swift
  /// let (engine, rotation) = try await EncryptedEngine.encrypt(base, key: key)
  /// let report = try await rotation.result()
  /// ```
  ///
  /// The engine can be used at once: it reads both kinds of values, and encrypts what it writes. **Close every other
  /// handle of the store before**, in every process: what a handle without encryption writes stays in plain, and is
  /// refused once the rotation is complete. What the store held in plain may remain in the free space of its files, in
  /// its log and in backups; see `docs/security.md`.
  /// - Parameters:
  ///   - base: the engine of the store. It is closed with the encrypted one.
  ///   - key: the source of the root key.
  ///   - configuration: the options; the settings are those of a store that has no key ring yet.
  /// - Throws: the errors of opening an encrypted store; `readOnly`.
  public static func encrypt(
    _ base: any StorageEngine, key: RootKeySource, configuration: EncryptionConfiguration = EncryptionConfiguration()
  ) async throws -> (engine: EncryptedEngine, rotation: KeyRotation) {
    let reader = RootKeyReader(key)
    let engine = try await open(base, ifMissing: .createForPlainValues, configuration: configuration) {
      try await reader.rootKey(for: $0)
    }
    return (engine, try await engine.encryptPlainValues())
  }

  /// Encrypts the plain values of a store whose key ring was created for it, or continues to do so.
  package func encryptPlainValues(from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation {
    try checkRotation()
    // A store that was complete may hold plain values that another handle has written.
    try await ciphers.update { ring in
      guard ring.phase != .decrypting else { throw StorageError.isTransitional(self.description) }
      ring.phase = .encrypting
    }
    return begin(.encryption, continuing: false, nil, origin) { engine, _, report in
      guard report.isComplete else { return engine.cipher.ring.primary.id.short }
      return try await engine.ciphers.update { ring in
        guard ring.phase != .decrypting else { throw StorageError.isTransitional(engine.description) }
        ring.phase = .complete
      }.ring.primary.id.short
    }
  }

  /// Stores every value in plain, and then removes the key ring: the engine behind this one is an ordinary one
  /// afterwards, and this one can no longer be used.
  ///
  /// New values are stored in plain from the beginning. The other promises are those of ``rotate(prefix:from:)``.
  /// - Throws: `readOnly`, `unsupported` for a store without listings.
  public func decrypt(from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation {
    try checkRotation()
    let wasInterrupted = cipher.ring.phase == .decrypting
    _ = try await ciphers.update { $0.phase = .decrypting }
    return begin(.decryption, continuing: wasInterrupted, nil, origin) { engine, _, report in
      guard report.isComplete else { return engine.cipher.ring.primary.id.short }
      try await engine.ciphers.removeRing()
      return nil
    }
  }

  private func checkRotation() throws {
    guard !isReadOnly else {
      throw StorageError(
        .readOnly, "The store is open for reading only, and a rotation writes every value.",
        advice: "Nothing was written. Reopen it with write access.", location: description)
    }
    guard capabilities.contains([.listing, .snapshots]) else {
      throw StorageError.unsupported(
        "rotation, which needs listings and snapshots", advice: "Write each value anew.", location: description)
    }
  }

  private func begin(
    _ goal: RotationGoal, continuing: Bool, _ prefix: StoreKey?, _ origin: StoreOrigin,
    target: KeyID? = nil, again: (@Sendable (EncryptedEngine) async throws -> KeyID)? = nil,
    finish: @escaping @Sendable (EncryptedEngine, KeyID?, inout RotationReport) async throws -> String?
  ) -> KeyRotation {
    KeyRotation { [self] rotation in
      var report = RotationReport(goal: goal, continuedEarlier: continuing)
      var work = Reencryption(engine: self, rotation: rotation, origin: origin, prefix: prefix, target: target)
      try await work.run(&report)
      if continuing, report.changedValues == 0, prefix != nil || !report.isComplete, let again {
        work.target = try await again(self)
        report = RotationReport(goal: goal, continuedEarlier: false)
        try await work.run(&report)
      }
      try Task.checkCancellation()
      report.primaryKey = try await finish(self, work.target, &report)
      rotation.update { $0.isFinished = true }
      return report
    }
  }
}

extension StorageError {
  static func isTransitional(_ location: String) -> StorageError {
    StorageError(
      .busy, "The store is being encrypted or decrypted.",
      advice: "Finish that first: run the same operation again. Nothing was changed.", location: location)
  }
}
