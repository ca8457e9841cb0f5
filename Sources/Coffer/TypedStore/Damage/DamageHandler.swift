import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferFiles
import CofferSQLite
package import Foundation

/// Replaces the damaged values of one store as their policies say.
package final class DamageHandler: Sendable {
  private struct Identity: Hashable {
    let location: String
    let key: KeyName
  }

  /// The values whose policies are being run by the current task: a policy that reads its own key must not run itself.
  @TaskLocal private static var running: Set<Identity> = []

  /// The policy of keys that have none of their own.
  package let policy: DamagePolicy<Data>
  private let engine: any StorageEngine
  private let origin: StoreOrigin
  private let onHandled: (@Sendable (HandledDamage) -> Void)?
  private let patience: Duration
  private let underWay = Locked<[KeyName: Promise<Void>]>([:])

  /// - Parameter patience: the time for which a read waits for a policy.
  init(
    _ policy: DamagePolicy<Data>, _ engine: any StorageEngine, origin: StoreOrigin,
    patience: Duration = .seconds(10), onHandled: (@Sendable (HandledDamage) -> Void)?
  ) {
    self.policy = policy
    self.engine = engine
    self.origin = origin
    self.patience = patience
    self.onHandled = onHandled
  }

  /// Runs a policy after a read has failed. Returns when the value should be read again.
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - error: the error of the read.
  ///   - plan: the policy.
  ///   - check: throws if bytes are not a value of the key.
  /// - Throws: `error`, with the reason if the policy could not be followed.
  func handle(
    _ key: KeyName, after error: StorageError, _ plan: DamagePlan,
    check: @escaping @Sendable (EncodedValue) throws -> Void
  ) async throws {
    let identity = Identity(location: engine.description, key: key)
    guard error.code == .damaged, !plan.steps.isEmpty, !SQLiteEngine.isInsideSnapshot,
      !Self.running.contains(identity), let quarantine = engine.quarantine
    else { throw error }
    let (handling, isNew) = underWay.withLock { underWay in
      if let handling = underWay[key] { return (handling, false) }
      let handling = Promise<Void>()
      underWay[key] = handling
      return (handling, true)
    }
    if isNew {
      // Not a child of the reading task: other reads wait for the same run.
      Task {
        let result: Result<Void, any Error>
        do {
          try await Self.$running.withValue(Self.running.union([identity])) {
            try await run(key, error, plan, quarantine, check)
          }
          result = .success(())
        } catch { result = .failure(error) }
        underWay.withLock { $0[key] = nil }
        handling.end(result)
      }
    }
    let late = StorageError(.busy, "The handler has not returned within \(patience.formatted()).")
    try await handling.value(within: patience, orThrow: error.notReplaced(late, isKept: true))
  }

  private func run(
    _ key: KeyName, _ error: StorageError, _ plan: DamagePlan, _ quarantine: any QuarantiningEngine,
    _ check: @Sendable (EncodedValue) throws -> Void
  ) async throws {
    let damage: DamageReport
    do {
      if engine.isReadOnly {
        throw StorageError.readOnly(because: "a damaged value stays as it is.", location: engine.description)
      }
      guard let found = try await quarantine.damage(of: key) else { return }
      damage = found
    } catch let cause as StorageError where cause.code == .damaged {
      throw error  // More than this value is damaged.
    } catch let cause {
      let unknown = DamageReport(key: key, revision: .zero, size: 0, location: engine.description)
      throw failed(unknown, error.notReplaced(cause, isKept: false), [])
    }
    var obstacles: [StorageError] = []
    for step in plan.steps {
      let replacement: Replacement
      do {
        replacement = try await self.replacement(step, damage, key, check)
      } catch let cause {
        obstacles.append(cause.withoutValue(at: engine.description, key: key))
        continue
      }
      do {
        return try await commit(replacement, key, damage, quarantine, obstacles)
      } catch let cause {
        throw failed(damage, error.notReplaced(cause, isKept: true), obstacles)
      }
    }
    throw failed(damage, error.notReplaced(obstacles.last ?? error, isKept: true), obstacles)
  }

  /// Reports a failure and returns the error for the read.
  private func failed(_ damage: DamageReport, _ error: StorageError, _ obstacles: [StorageError]) -> StorageError {
    emit(HandledDamage(damage: damage, outcome: .failed(error), obstacles: obstacles))
    return error
  }

  /// Passes on what was done about a damaged value.
  private func emit(_ handled: HandledDamage) { onHandled?(handled) }

  // MARK: Finding a replacement

  private struct Replacement {
    let value: EncodedValue
    var backup: (url: URL, date: Date)?
  }

  private func replacement(
    _ step: DamagePolicy<EncodedValue>.Step, _ damage: DamageReport, _ key: KeyName,
    _ check: (EncodedValue) throws -> Void
  ) async throws -> Replacement {
    switch step {
    case .replace(let value):
      let value = try await value(damage)
      try check(value)
      return Replacement(value: value)
    case .restore(let backups): return try await lastGood(of: key, in: backups, check)
    }
  }

  /// Returns the value of the newest backup that has a good one.
  private func lastGood(
    of key: KeyName, in backups: [URL], _ check: (EncodedValue) throws -> Void
  ) async throws -> Replacement {
    let store = try restorableStore()
    var newest: Replacement?
    var reasons: [String] = []
    for url in backups {
      do {
        guard let found = try await value(of: key, inBackup: try url.filePath(), of: store) else {
          throw StorageError(.notFound, "It has no value of this key.")
        }
        if let date = newest?.backup?.date, date >= found.date { continue }
        let value = EncodedValue(found.entry)
        try check(value)
        newest = Replacement(value: value, backup: (url, found.date))
      } catch {
        reasons.append("\(url.path.escapingControlCharacters): \(error.withoutValue(at: "", key: key).message)")
      }
    }
    if let newest { return newest }
    throw StorageError(
      .notFound, "No backup has a good value. \(reasons.joined(separator: " "))", location: engine.description, key: key
    )
  }

  /// Returns the value of a key in a backup, which is opened if it is encrypted.
  private func value(
    of key: KeyName, inBackup path: String, of store: SQLiteEngine
  ) async throws -> (entry: StoreEntry, date: Date)? {
    guard let encryption = engine.as(EncryptedEngine.self) else {
      return try await store.value(of: key, inBackup: path).map { ($0.entry, $0.date) }
    }
    var date: Date?
    let entry = try await encryption.entry(key) { stored in
      let found = try await store.value(of: stored, inBackup: path)
      date = found?.date ?? date
      return found?.entry
    }
    return entry.map { ($0, date ?? .distantPast) }
  }

  /// Returns the database of the store, or its journal, whose identity its backups share.
  private func restorableStore() throws -> SQLiteEngine {
    // Another decorator may transform values, and the values in a backup are those of the engine behind it.
    var engine = engine
    while let decorator = engine as? any EngineDecorator,
      decorator is RetryingEngine || decorator is SelectiveEncryption || decorator is EncryptedEngine
    {
      engine = decorator.base
    }
    if let engine = engine as? SQLiteEngine { return engine }
    if let slots = engine as? SlotEngine, !slots.capabilities.contains(.secrecy), let journal = slots.journal {
      return journal
    }
    throw StorageError.unsupported(
      "values from backups", advice: "Use another policy.", location: engine.description)
  }

  // MARK: Storing it

  private func commit(
    _ replacement: Replacement, _ key: KeyName, _ damage: DamageReport, _ quarantine: any QuarantiningEngine,
    _ obstacles: [StorageError]
  ) async throws {
    // A value that was repaired in place has the revision that it had before.
    guard try await quarantine.damage(of: key)?.revision == damage.revision else { return }
    let value = replacement.value
    let batch = try engine.checkingConditions(
      WriteBatch([.require(key, damage.revision), .put(key, value.data, value.attributes)]))
    do {
      let revision = try await engine.commit(batch, from: origin).revision
      let outcome: HandledDamage.Outcome =
        if let backup = replacement.backup { .restored(revision, from: backup.url, of: backup.date) } else {
          .replaced(revision)
        }
      emit(HandledDamage(damage: damage, outcome: outcome, obstacles: obstacles))
    } catch let error as StorageError where error.code == .preconditionFailed {
      // Another writer was faster: its value is read.
    } catch let error as StorageError where error.code == .unfinished || error.code == .outcomeUnknown {
      // The value may be replaced; reading it again shows it.
      emit(HandledDamage(damage: damage, outcome: .failed(error), obstacles: obstacles))
    }
  }
}

extension Error {
  /// The error as a `StorageError`, without the text of another error, which may quote a value.
  fileprivate func withoutValue(at location: String, key: KeyName?) -> StorageError {
    if let error = self as? StorageError { return error.locating(at: location, key: key) }
    return StorageError(
      .inputOutput, "The handler of damaged values has thrown an error.", location: location, key: key,
      underlying: .init(domain: String(reflecting: type(of: self)), code: 0, text: "details withheld"))
  }
}

extension StorageError {
  /// Returns the error of a read whose value could not be replaced.
  /// - Parameters:
  ///   - cause: the reason.
  ///   - isKept: whether the damaged bytes are in the quarantine.
  fileprivate func notReplaced(_ cause: any Error, isKept: Bool) -> StorageError {
    let cause = cause.withoutValue(at: location, key: key)
    let kept = isKept ? "Its bytes are in the quarantine." : "Its bytes could not be copied to the quarantine."
    return StorageError(
      .damaged, "\(message) It was not replaced: \(cause.message)",
      advice: "\(kept) The next read tries again; writing the key replaces the value.", location: location, key: key,
      underlying: cause.underlying ?? .init(domain: "Coffer", code: 0, text: cause.code.description))
  }
}
