import CofferCore
public import Foundation

extension TypedStore {
  /// The reads and writes of one attempt of `TypedStore.transaction`.
  ///
  /// All reads are from one snapshot, and see the transaction's own writes. The writes are committed when the closure
  /// returns. A transaction is valid inside the closure; afterwards its methods throw `closed`.
  public final class Transaction: Sendable {
    package let attempt: TransactionAttempt
    package let store: TypedStore

    init(_ attempt: TransactionAttempt, _ store: TypedStore) {
      self.attempt = attempt
      self.store = store
    }

    /// Returns the value of a key, or `nil` when it is proven absent. The commit fails, and the closure runs again, if
    /// another writer changes the key in the meantime.
    /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`, in which case they are kept.
    public func load<T: Decodable & Sendable>(_ type: T.Type, for key: KeyName) async throws -> T? {
      try await attempt.load(CodedValue<T>(store: store, key: key))
    }

    /// Returns whether there is a value, without reading it. The commit fails, and the closure runs again, if another
    /// writer changes the key in the meantime.
    /// - Throws: `StorageError` when it cannot be determined.
    public func exists(_ key: KeyName) async throws -> Bool { try await attempt.exists(key) }

    /// Stores a value, replacing any existing one. Nothing is visible to others before the transaction is committed.
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key of the value.
    ///   - expires: the date from which the value is absent; `nil` for a value that does not expire.
    /// - Throws: `StorageError` with code `encodingFailed`.
    public func save<T: Encodable & Sendable>(_ value: T, for key: KeyName, expires: Date? = nil) throws {
      try save(CodedValue(store: store, key: key).ready(value, expires: expires))
    }

    package func save(_ value: ReadyValue) throws { try attempt.put(value.key, value.encoded, value.box, value.traits) }

    /// Removes a value. Removing a missing value is not an error.
    /// - Throws: `StorageError` with code `closed` outside of the closure.
    public func delete(_ key: KeyName) throws { try attempt.delete(key, store.traits) }
  }
}

extension TypedStore {
  /// Runs a closure that reads and writes several keys, of any types, and commits its writes together: all of them or
  /// none.
  ///
  /// ```swift
  /// try await store.transaction { transaction in
  ///   let stock = try await transaction.load(Int.self, for: "stock") ?? 0
  ///   guard stock > 0 else { throw SoldOut() }
  ///   try transaction.save(stock - 1, for: "stock")
  ///   try transaction.save(Order(of: "mug"), for: "order/17")
  /// }
  /// ```
  ///
  /// If another writer changes a key that the closure has read before its writes are committed, the closure **runs
  /// again** with the newer values. It must therefore have no side effects. From the second attempt on, the
  /// transactions of this store run one after the other, so that they no longer disturb each other. Nothing is written
  /// when the closure throws or the task is cancelled. A transaction inside the closure, and any other write to a key
  /// that the closure has read, conflicts with it. The closure also runs again after a value that it has read was
  /// migrated, or was damaged and replaced by its ``DamagePolicy``; both stay, whatever the closure does.
  ///
  /// - Parameters:
  ///   - durability: the failures that the writes survive once the call returns.
  ///   - id: the logical change that the writes belong to; a new one by default.
  ///   - limit: the maximum time of all attempts together, 30 s by default; `nil` for no limit.
  ///   - body: reads and writes. Keep it short: an open snapshot delays the maintenance of the store.
  /// - Returns: the result of the closure.
  /// - Throws: Any error of `body`. `StorageError`: `busy` when the time is over, `unsupported` for an engine without
  ///   snapshots and preconditions, `outcomeUnknown`, after which the closure is not repeated. `CancellationError`.
  public func transaction<R: Sendable>(
    durability: StoreDurability = .full, id: TransactionID? = nil, within limit: Duration? = .seconds(30),
    _ body: @escaping @Sendable (TypedStore.Transaction) async throws -> R
  ) async throws -> R {
    // A store that is open for reading only refuses the commit, if there is one.
    let needed: StoreCapabilities.Features =
      engine.isReadOnly ? .snapshots : [.preconditions, .revisions, .atomicBatches, .snapshots]
    guard engine.capabilities.contains(needed) else {
      throw StorageError.unsupported(
        "transactions", advice: "Load the values and save them one by one; a concurrent change is then lost.",
        location: engine.description)
    }
    try await pending?.flush()
    guard let events = engine.events else {
      return try await attempts(durability, id, within: limit, TransactionConflicts(), body)
    }
    return try await events.span(.transaction, at: engine.description, transaction: id) { span, _ in
      let conflicts = TransactionConflicts { [location = engine.description] count in
        let retry = StoreEvent.Retry(.transaction, attempt: count, code: .preconditionFailed)
        events.emit(StoreEvent(location: location, .retried(retry)), in: span)
      }
      return try await attempts(durability, id, within: limit, conflicts, body)
    }
  }

  private func attempts<R: Sendable>(
    _ durability: StoreDurability, _ id: TransactionID?, within limit: Duration?, _ conflicts: TransactionConflicts,
    _ body: @escaping @Sendable (TypedStore.Transaction) async throws -> R
  ) async throws -> R {
    guard let limit else { return try await untilCommitted(durability, id, conflicts, body) }
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask { .some(try await self.untilCommitted(durability, id, conflicts, body)) }
      group.addTask {
        try? await Task.sleep(for: limit)
        return nil
      }
      if let result = try await group.next().flatMap({ $0 }) {
        group.cancelAll()
        return result
      }
      // The closure is cancelled, but its commit may have begun: its outcome counts.
      group.cancelAll()
      do {
        if let result = try await group.next().flatMap({ $0 }) { return result }
      } catch is CancellationError where !Task.isCancelled {}
      throw timedOut(limit, conflicts: conflicts.count)
    }
  }

  private func untilCommitted<R: Sendable>(
    _ durability: StoreDurability, _ id: TransactionID?, _ conflicts: TransactionConflicts,
    _ body: @escaping @Sendable (TypedStore.Transaction) async throws -> R
  ) async throws -> R {
    // The damaged values whose policies were run, with the errors of those that could not be replaced.
    var handled: [KeyName: (any Error)?] = [:]
    func once() async throws -> R? {
      let (outcome, attempt) = try await engine.withSnapshot { [location = engine.description] snapshot in
        let attempt = TransactionAttempt(snapshot, location: location)
        defer { attempt.end() }
        do {
          return (Result<R, any Error>.success(try await body(TypedStore.Transaction(attempt, self))), attempt)
        } catch {
          return (.failure(error), attempt)
        }
      }
      // The closure runs again with the migrated value, also if it has ignored the error.
      if let error = attempt.migration, let key = error.key {
        try await migrateValue(of: key)
        return nil
      }
      if let preparation = attempt.preparation {
        try await preparation()
        return nil
      }
      if !attempt.damaged.isEmpty { try Task.checkCancellation() }
      var isReplaced = false
      for (key, handle) in attempt.damaged where handled[key] == nil {
        do {
          try await handle()
          (handled[key], isReplaced) = (.some(nil), true)
        } catch { handled[key] = .some(error) }
      }
      if isReplaced { return nil }
      if case .failure(let error as StorageError) = outcome, error.code == .damaged,
        error.location == engine.description, let key = error.key, let reason = handled[key] ?? nil
      {
        throw reason
      }
      let result = try outcome.get()
      try Task.checkCancellation()
      guard let (batch, written, traits) = attempt.batch(durability: durability, id: id) else { return result }
      do {
        try await commit(batch, written, traits)
        return result
      } catch let error as StorageError where error.code == .preconditionFailed {
        conflicts.add()
        return nil
      }
    }
    func repeated() async throws -> R {
      while true {
        try Task.checkCancellation()
        if let result = try await once() { return result }
      }
    }
    if let result = try await once() { return result }
    // A transaction inside the closure of a repeated one would wait for the turn that its own task has.
    let turns = Self.turns
    guard !turns.contains(ObjectIdentifier(self)) else { return try await repeated() }
    return try await repetitions.run("transaction") {
      try await Self.$turns.withValue(turns.union([ObjectIdentifier(self)])) { try await repeated() }
    }
  }

  /// The stores of which the task repeats a transaction.
  @TaskLocal private static var turns: Set<ObjectIdentifier> = []

  private func timedOut(_ limit: Duration, conflicts: Int) -> StorageError {
    let reason =
      conflicts == 0
      ? "It had not returned."
      : "Other writers changed the keys that it had read \(conflicts == 1 ? "once" : "\(conflicts) times")."
    return StorageError(
      .busy,
      "The transaction was not committed within \(limit.formatted(.units(allowed: [.seconds, .milliseconds])))."
        + " \(reason)",
      advice: "Nothing was written. Try again, read fewer keys, or allow more time.", location: engine.description)
  }
}

/// The conflicts of a transaction with other writers.
private final class TransactionConflicts: Sendable {
  private let number = Locked(0)
  private let added: (@Sendable (Int) -> Void)?

  /// - Parameter added: called after each conflict with their number.
  init(added: (@Sendable (Int) -> Void)? = nil) { self.added = added }

  var count: Int { number.withLock { $0 } }

  func add() {
    let count = number.withLock { number in
      number += 1
      return number
    }
    added?(count)
  }
}
