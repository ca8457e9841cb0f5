import CofferCore
import Foundation

/// One attempt of a transaction: what it has read, from one snapshot, and what it will write.
package final class TransactionAttempt: Sendable {
  private struct State {
    /// The revision of each key that was read; `nil` for an absent key.
    var read: [KeyName: StoreRevision?] = [:]
    var writes: [Write] = []
    /// The position of the last write of each key.
    var last: [KeyName: Int] = [:]
    var traits: ValueTraits = []
    var isEnded = false
    var migration: StorageError?
    var damaged: [KeyName: @Sendable () async throws -> Void] = [:]
    var preparation: (@Sendable () async throws -> Void)?
  }

  private struct Write {
    let operation: WriteBatch.Operation
    let key: KeyName
    let value: EncodedValue?
    let box: (any AnyBox)?
  }

  private let snapshot: any StorageSnapshot
  private let location: String
  private let state = Locked(State())

  init(_ snapshot: any StorageSnapshot, location: String) {
    self.snapshot = snapshot
    self.location = location
  }

  /// Returns the bytes of a key as the attempt sees them: its own write, or those of the snapshot.
  func value(of key: KeyName) async throws -> EncodedValue? {
    let own = try use { state in state.last[key].map { state.writes[$0].value } }
    if let own { return own }
    let entry = try await snapshot.entries([key]).first ?? nil
    try use { $0.read[key] = .some(entry?.revision) }
    return entry.map { EncodedValue($0) }
  }

  /// Returns a value as the attempt sees it.
  package func load<P: ValuePlan>(_ plan: P) async throws -> P.Value? {
    do {
      guard let stored = try await value(of: plan.key) else { return nil }
      return try plan.decode(stored)
    } catch let error as StorageError {
      state.withLock { state in
        if error.code == .migrationNeeded { state.migration = state.migration ?? error }
        if error.code == .damaged { state.damaged[plan.key] = { try await plan.handle(error) } }
      }
      throw error
    }
  }

  /// Returns whether a key has a value as the attempt sees it, without reading the value.
  func exists(_ key: KeyName) async throws -> Bool {
    let own = try use { state in state.last[key].map { state.writes[$0].value != nil } }
    if let own { return own }
    let summary = try await snapshot.summary(of: key)
    try use { $0.read[key] = .some(summary?.revision) }
    return summary != nil
  }

  func put(_ key: KeyName, _ value: EncodedValue, _ box: any AnyBox, _ traits: ValueTraits) throws {
    try add(Write(operation: .put(key, value.data, value.attributes), key: key, value: value, box: box), traits)
  }

  package func delete(_ key: KeyName, _ traits: ValueTraits) throws {
    try add(Write(operation: .delete(key), key: key, value: nil, box: nil), traits)
  }

  private func add(_ write: Write, _ traits: ValueTraits) throws {
    try use { state in
      state.traits.formUnion(traits)
      state.last[write.key] = state.writes.count
      state.writes.append(write)
    }
  }

  private func use<R>(_ body: (inout State) -> R) throws -> R {
    try state.withLock { state in
      guard !state.isEnded else {
        throw StorageError(
          .closed, "The transaction was used after its closure had returned.",
          advice: "Do everything inside the closure. Nothing was read or written by this call.", location: location)
      }
      return body(&state)
    }
  }

  /// The error of a read of a value that must be migrated.
  var migration: StorageError? { state.withLock { $0.migration } }

  /// The policies of the damaged values that were read.
  var damaged: [KeyName: @Sendable () async throws -> Void] { state.withLock { $0.damaged } }

  /// Records what must be done outside of the snapshot before the closure runs again.
  package func prepare(_ preparation: @escaping @Sendable () async throws -> Void) {
    state.withLock { $0.preparation = $0.preparation ?? preparation }
  }

  /// What must be done before the closure runs again.
  var preparation: (@Sendable () async throws -> Void)? { state.withLock { $0.preparation } }

  func end() { state.withLock { $0.isEnded = true } }

  /// Returns the batch that commits the writes if no key that was read has changed; `nil` if there are no writes.
  func batch(
    durability: StoreDurability, id: TransactionID?
  ) -> (batch: WriteBatch, written: [(key: KeyName, box: (any AnyBox)?)], traits: ValueTraits)? {
    let (read, writes, traits) = state.withLock { ($0.read, $0.writes, $0.traits) }
    guard !writes.isEmpty else { return nil }
    var operations = read.map { WriteBatch.Operation.require($0.key, $0.value) }
    operations += writes.map(\.operation)
    return (WriteBatch(operations, transaction: id, durability: durability), writes.map { ($0.key, $0.box) }, traits)
  }
}
