public import CofferCore
import Foundation

extension EncryptedEngine {
  /// Encrypts every value under a new key, and then removes the old keys from the key ring.
  ///
  /// The store is read and written meanwhile, by any process; new values are encrypted under the new key from the
  /// beginning. If an earlier rotation was interrupted, it is continued under its key
  /// (``KeyRotation/Report/continuedEarlier``); rotate again for a new one. Subscribers receive each rewritten value as
  /// a change, and its revision is a new one. A value that cannot be read stays as it is, and so do the keys that it
  /// may need.
  /// - Parameters:
  ///   - prefix: the prefix of the keys to write anew; `nil`, the default, for all. After a part of them the old keys
  ///     stay, as the others need them.
  ///   - origin: the origin of the commits.
  /// - Returns: the running rotation.
  /// - Throws: `readOnly`, `unsupported` for a store without listings, and `busy` while the store is being encrypted or
  ///   decrypted.
  public func rotate(prefix: KeyName? = nil, from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation {
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
      try await engine.removeRetiredKeys(prefix, target, &report)
    }
  }

  /// Encrypts every value under the primary key, which an earlier call has made, and removes the other keys.
  func continueRotation(to target: KeyID) -> KeyRotation {
    begin(.newKey, continuing: true, nil, StoreOrigin(), target: target) { engine, target, report in
      try await engine.removeRetiredKeys(nil, target, &report)
    }
  }

  /// The size in bytes up to which a store is scrubbed by a rotation or while it is being closed.
  package static let scrubbedSize = 16 << 20

  /// Removes the keys that no value needs after a whole rotation.
  /// - Returns: the short id of the primary key.
  private func removeRetiredKeys(
    _ prefix: KeyName?, _ target: KeyID?, _ report: inout KeyRotation.Report
  ) async throws -> String? {
    guard prefix == nil, report.isComplete, let target else { return cipher.ring.primary.id.short }
    var removed: [String] = []
    let final = try await ciphers.update { ring in
      removed = []
      // Another process may have begun the next rotation, whose old key is still needed.
      guard ring.primary.id == target else { return }
      for entry in ring.entries where entry.state == .retired {
        try ring.remove(entry.id)
        removed.append(entry.id.short)
      }
    }
    report.removedKeys = removed
    report.isScrubbed = await scrubsSmallFiles()
    return final.ring.primary.id.short
  }

  /// Scrubs the files unless they are large, which would delay other writers. Nothing is lost if it fails.
  private func scrubsSmallFiles() async -> Bool { (try? await base.scrubFiles(upTo: Self.scrubbedSize)) ?? false }

  /// Encrypts the values of a store that holds plain ones, or continues to do so. A store of which only declared keys
  /// are encrypted becomes one whose values all are, unless the configuration declares keys. A store whose decryption
  /// was begun is encrypted again.
  ///
  /// ```swift
  /// let (engine, rotation) = try await EncryptedEngine.encrypt(base, key: key)
  /// let report = try await rotation.result()
  /// ```
  ///
  /// The engine can be used at once: it reads both kinds of values, and encrypts what it writes. Until the rotation is
  /// complete, also if the process ends before, other handles open the store only if they state
  /// ``EncryptedEngine/Configuration/acceptsUnfinished``. Close every other
  /// handle of the store before, in every process: a handle without encryption can store no values any more
  /// (`keyUnavailable`). A value that cannot be read is a failure of the report and stays as it is.
  /// The encryption ends beside it, but with hidden names not beside a damaged one: remove that, and encrypt the store
  /// again. Afterwards the free space of the files and the log are freed of the plain
  /// values if the store has up to 16 MiB (``KeyRotation/Report/isScrubbed``); otherwise call ``scrub()``. Backups and
  /// the quarantine keep them; see `docs/security.md`.
  /// - Parameters:
  ///   - base: the engine of the store. It is closed with the encrypted one.
  ///   - key: the source of the root key.
  ///   - configuration: the options; the settings are those of a store that has no key ring yet.
  ///   - accepts: whether the store is anchored as it is although its anchor knows an encrypted store, as
  ///     ``acceptRollback(of:key:configuration:)`` does: after a plain backup was restored, or the store was decrypted
  ///     without its anchor. `false` by default.
  /// - Throws: the errors of opening an encrypted store; `readOnly`; those of
  ///   ``acceptRollback(of:key:configuration:)``.
  public static func encrypt(
    _ base: any StorageEngine, key: RootKeySource,
    configuration: EncryptedEngine.Configuration = EncryptedEngine.Configuration(),
    acceptingRollback accepts: Bool = false
  ) async throws -> (engine: EncryptedEngine, rotation: KeyRotation) {
    if accepts { try checkAcceptance(of: base, configuration) }
    let reader = RootKeyReader(key)
    var phase: KeyRing.Phase?
    let engine = try await open(base, configuration, acceptingRollback: accepts, serving: .encrypting) { store in
      var isNew = false
      let open = try await store.open(
        settings: configuration.settings, coverage: configuration.coverage, ifMissing: .createForPlainValues
      ) { derivation in
        isNew = derivation == nil
        return try await reader.rootKey(for: derivation)
      }
      let isExtended = open.ring.phase == .complete && open.ring.coverage != configuration.coverage
      phase = isNew || isExtended ? nil : open.ring.phase
      return open
    } changing: { store, open in
      let extends = open.ring.coverage == .declared && configuration.coverage == .all
      guard extends || open.ring.phase == .decrypting else { return open }
      try checkRotation(of: base)
      return try await store.update(open, refusingOlder: configuration.rollbackProtection != nil) { ring in
        if extends { ring.coverage = .all }
        ring.phase = .encrypting
      }
    }
    return (engine, try await engine.encryptPlainValues(after: phase))
  }

  /// Encrypts the plain values of a store whose key ring was created for it, or continues to do so.
  /// - Parameter phase: the phase of the key ring before. In *complete* no value should be in plain; in the others an
  ///   earlier run was interrupted. `nil`, the default, for values that are encrypted for the first time.
  package func encryptPlainValues(
    after phase: KeyRing.Phase? = nil, from origin: StoreOrigin = StoreOrigin()
  ) async throws -> KeyRotation {
    try checkRotation()
    // A store that was complete may hold plain values that another handle has written.
    try await ciphers.enter(.encrypting) { ring in
      guard ring.phase != .decrypting else { throw StorageError.isTransitional(self.description) }
      ring.phase = .encrypting
    }
    return begin(.encryption, continuing: phase == .encrypting, nil, origin) { engine, _, report in
      if let phase { report.unexpectedValues = phase == .complete ? report.changedValues : nil }
      // What cannot be read is refused afterwards as before, and must not keep the other values from being used. Beside
      // hidden names, a damaged one under a plain name would keep them from being listed.
      let leaves = report.failures.allSatisfy { $0.isUnreadable && !(engine.hidesNames && $0.error.code == .damaged) }
      guard leaves else { return engine.cipher.ring.primary.id.short }
      let final = try await engine.ciphers.enter(.complete) { ring in
        guard ring.phase != .decrypting else { throw StorageError.isTransitional(engine.description) }
        ring.phase = .complete
      }
      report.isFinished = true
      report.isScrubbed = await engine.scrubsSmallFiles()
      return final.ring.primary.id.short
    }
  }

  /// Stores every value in plain, and then removes the key ring: the engine behind this one is an ordinary one
  /// afterwards, and this one can no longer be used.
  ///
  /// New values of this engine are stored in plain from the beginning; other handles throw `encryptionUnfinished`,
  /// unless they accept that (``EncryptedEngine/Configuration/acceptsUnfinished``). The same setting opens the store to
  /// continue what an earlier process has begun. The other promises are those of ``rotate(prefix:from:)``.
  /// - Throws: `readOnly`; `unsupported` for a store without listings, and for one that has an anchor and was opened
  ///   without it (``EncryptedEngine/Configuration/rollbackProtection``): the anchor would refuse the plain store.
  public func decrypt(from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation {
    try checkRotation()
    if freshness == nil, try await FreshnessRecord.isPresent(in: base) {
      throw StorageError.anchorIsNotGiven(description)
    }
    let wasInterrupted = cipher.ring.phase == .decrypting
    try await ciphers.enter(.decrypting) { $0.phase = .decrypting }
    return begin(.decryption, continuing: wasInterrupted, nil, origin) { engine, _, report in
      guard report.isComplete else { return engine.cipher.ring.primary.id.short }
      try await engine.freshness?.release()
      try await engine.ciphers.removeRing()
      return nil
    }
  }

  private func checkRotation() throws { try Self.checkRotation(of: self) }

  private static func checkRotation(of engine: any StorageEngine) throws {
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The store is open for reading only, and a rotation writes every value.",
        advice: "Nothing was written. Open it where it can be written, with write access.", location: engine.description
      )
    }
    guard engine.capabilities.contains([.listing, .snapshots]) else {
      throw StorageError.unsupported(
        "rotation, which needs listings and snapshots", advice: "Write each value anew.", location: engine.description)
    }
  }

  private func begin(
    _ goal: KeyRotation.Goal, continuing: Bool, _ prefix: KeyName?, _ origin: StoreOrigin,
    target: KeyID? = nil, again: (@Sendable (EncryptedEngine) async throws -> KeyID)? = nil,
    finish: @escaping @Sendable (EncryptedEngine, KeyID?, inout KeyRotation.Report) async throws -> String?
  ) -> KeyRotation {
    KeyRotation { [self] rotation in
      var report = KeyRotation.Report(goal: goal, continuedEarlier: continuing)
      var work = Reencryption(engine: self, rotation: rotation, origin: origin, prefix: prefix, target: target)
      try await work.run(&report)
      if continuing, report.changedValues == 0, prefix != nil || !report.isComplete, let again {
        work.target = try await again(self)
        report = KeyRotation.Report(goal: goal, continuedEarlier: false)
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
