import CofferCore
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
  private let onHandled: (@Sendable (TypedStore.HandledDamage) -> Void)?
  private let patience: Duration
  private let underWay = Locked<[KeyName: Promise<Void>]>([:])

  /// - Parameter patience: the time for which a read waits for a policy.
  init(
    _ policy: DamagePolicy<Data>, _ engine: any StorageEngine, origin: StoreOrigin,
    patience: Duration = .seconds(10), onHandled: (@Sendable (TypedStore.HandledDamage) -> Void)?
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
    guard error.code == .damaged, let replacement = plan.replacement, !SQLiteEngine.isInsideSnapshot,
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
            try await run(key, error, quarantine) { damage in
              let value = try await replacement(damage)
              try check(value)
              return value
            }
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
    _ key: KeyName, _ error: StorageError, _ quarantine: any QuarantiningEngine,
    _ replacement: @Sendable (DamageReport) async throws -> EncodedValue
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
      throw failed(unknown, error.notReplaced(cause, isKept: false))
    }
    do {
      try await commit(try await replacement(damage), key, damage, quarantine)
    } catch let cause {
      throw failed(damage, error.notReplaced(cause, isKept: true))
    }
  }

  /// Reports a failure and returns the error for the read.
  private func failed(_ damage: DamageReport, _ error: StorageError) -> StorageError {
    emit(damage, .failed(error))
    return error
  }

  /// Passes on what was done about a damaged value.
  private func emit(_ damage: DamageReport, _ outcome: TypedStore.HandledDamage.Outcome) {
    onHandled?(TypedStore.HandledDamage(damage: damage, outcome: outcome))
  }

  private func commit(
    _ value: EncodedValue, _ key: KeyName, _ damage: DamageReport, _ quarantine: any QuarantiningEngine
  ) async throws {
    // A value that was repaired in place has the revision that it had before.
    guard try await quarantine.damage(of: key)?.revision == damage.revision else { return }
    let batch = try engine.checkingConditions(
      WriteBatch([.require(key, damage.revision), .put(key, value.data, value.attributes)]))
    do {
      emit(damage, .replaced(try await engine.commit(batch, from: origin).revision))
    } catch let error as StorageError where error.code == .preconditionFailed {
      // Another writer was faster: its value is read.
    } catch let error as StorageError where error.code == .unfinished || error.code == .outcomeUnknown {
      // The value may be replaced; reading it again shows it.
      emit(damage, .failed(error))
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
