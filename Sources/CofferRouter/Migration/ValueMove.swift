import Coffer
import CofferCore
import Foundation

/// The move of older values to a key: read by the older keys' declarations, written and verified by the key's own,
/// and removed last.
///
/// The value and a record that says so are committed together, on the condition that the key has no value. Whoever
/// finds such a record and the value at its revision, after a kill or in another process, continues from there.
struct ValueMove<Key: StorageKey>: Sendable {
  /// The maximum number of attempts when other writers change the values meanwhile.
  private static var attempts: Int { 16 }

  let router: StorageRouter
  let key: Key
  let sources: [AnyStorageKey]
  /// The name of the migration in the record.
  let name: String
  let make: @Sendable (AnyStorageMigration.Values) async throws -> Key.Value

  /// An older value.
  fileprivate struct Source {
    /// The name of its key in the record.
    var identity = ""
    let resolved: StorageRouter.ResolvedKey
    let key: AnyStorageKey
    let entry: StoreEntry
    let value: any Sendable
  }

  /// What the key has already.
  private enum Present {
    case nothing
    case value(StoreEntry)
    /// There is a value that cannot be read.
    case damaged
  }

  func run() async throws -> MigrationResult {
    let destination = try await router.resolve(key)
    for _ in 0..<Self.attempts {
      try Task.checkCancellation()
      if let outcome = try await attempt(destination) { return outcome }
    }
    throw StorageError(
      .busy, "Other programs keep changing the values that are being migrated.",
      advice: "Try again; the older values are kept until the migration has ended.", location: location(destination),
      key: destination.key)
  }

  private func location(_ resolved: StorageRouter.ResolvedKey) -> String { resolved.store.engine.description }

  /// Returns the result, or `nil` if another writer has changed one of the values.
  private func attempt(_ destination: StorageRouter.ResolvedKey) async throws -> MigrationResult? {
    let log = try await MigrationLog(of: destination.key, in: destination.store.engine)
    let earlier = earlier(in: log)
    let found = try await read()
    guard !found.isEmpty else {
      let hasMoved = earlier?.state == .copied || earlier?.remains == true
      return try await finish(hasMoved ? .migrated : .nothingToMigrate, 0, destination, log)
    }
    if let source = found.first(where: { $0.resolved.store.engine.isReadOnly }) {
      throw StorageError(
        .readOnly, "The older value can only be read, so it cannot be moved to the key '\(key.name)'.",
        advice: "Open its store for writing once. Nothing was changed.", location: location(source.resolved),
        key: source.resolved.key)
    }
    let present = try await present(destination)
    switch present {
    case .nothing: break
    case .damaged: return try await finish(.destinationKept, 0, destination, log)
    case .value(let entry):
      // Two domains can lead to one store, where removing the older value would remove the new one.
      guard !found.contains(where: { isSame($0, entry, destination) }) else {
        return try await finish(.destinationKept, 0, destination, log)
      }
      if let earlier, earlier.state == .copied, entry.revision == log.revision {
        switch continuation(of: earlier, found) {
        case .removal: return try await remove(found, earlier.sources?.count ?? 0, destination)
        case .newCopy: break
        case .end: return try await finish(.destinationKept, 0, destination, log)
        }
      } else if (try? await value(of: found, destination))?.encoded.data == entry.value {
        // A killed run has copied it into a store without records.
        return try await remove(found, found.count, destination)
      } else {
        return try await finish(.destinationKept, 0, destination, log)
      }
    }
    return try await copy(found, over: present, destination, log)
  }

  private var identities: [String] { MigrationLog.identities(of: sources) }

  /// Returns the state that a run continues from: that of an interrupted one, whatever its name was, or its own.
  private func earlier(in log: MigrationLog) -> MigrationLog.Entry? { log.entry(continuedBy: name, identities) }

  private func isSame(_ source: Source, _ entry: StoreEntry, _ destination: StorageRouter.ResolvedKey) -> Bool {
    guard source.resolved.key == destination.key, source.entry.value == entry.value else { return false }
    return source.resolved.store.engine.capabilities.contains(.revisions) && source.entry.revision == entry.revision
  }

  private enum Continuation { case removal, newCopy, end }

  /// Returns how an interrupted run continues. The new value is not made again of a part of the older ones.
  private func continuation(of earlier: MigrationLog.Entry, _ found: [Source]) -> Continuation {
    let used = Set(earlier.sources ?? [])
    if found.allSatisfy({ used.contains($0.mark) }) { return .removal }
    let present = Set(found.map(\.identity))
    return used.allSatisfy { present.contains($0.key) } ? .newCopy : .end
  }

  // MARK: Reading

  private func read() async throws -> [Source] {
    var found: [Source] = []
    for (source, identity) in zip(sources, identities) {
      guard var value = try await source.key.read(source, self) else { continue }
      value.identity = identity
      found.append(value)
    }
    return found
  }

  /// Reads an older value by the declaration of its key. Creates no store for it.
  fileprivate func read<S: StorageKey>(_ key: S, _ any: AnyStorageKey) async throws -> Source? {
    guard try await router.mayExist(key.domain) else { return nil }
    let plan = try await router.plan(key)
    let resolved = plan.resolved
    return try await resolved.store.reading {
      guard let entry = try await resolved.flushedEngine(for: resolved.key).entry(resolved.key) else { return nil }
      return Source(resolved: resolved, key: any, entry: entry, value: try plan.decode(EncodedValue(entry)))
    } damaged: {
      try await plan.handle($0)
    }
  }

  private func present(_ destination: StorageRouter.ResolvedKey) async throws -> Present {
    let engine = try await destination.flushedEngine()
    do {
      // A value with an access control is read only if it is there.
      guard try await engine.contains(destination.key) else { return .nothing }
      return try await engine.entry(destination.key).map { .value($0) } ?? .nothing
    } catch let error as StorageError where error.code == .damaged && error.key == destination.key {
      return .damaged
    }
  }

  // MARK: Writing

  /// Returns the new value, whose bytes can be read back.
  private func value(of found: [Source], _ destination: StorageRouter.ResolvedKey) async throws -> ReadyValue {
    let values = AnyStorageMigration.Values(found: found.map { ($0.key.key.name, $0.key.descriptor.domain, $0.value) })
    let value = try await make(values)
    // A value that expires does not become one that never does.
    let expires = found.compactMap(\.entry.attributes.expires).min()
    let plan = DeclaredValue(router, key, destination)
    let ready = try plan.ready(value, expires: expires)
    _ = try plan.decode(ready.encoded)
    return ready
  }

  /// Stores the new value, reads it back, and removes the older ones: all in one commit if they are in one store.
  private func copy(
    _ found: [Source], over present: Present, _ destination: StorageRouter.ResolvedKey, _ log: MigrationLog
  ) async throws -> MigrationResult? {
    let (store, engine) = (destination.store, destination.store.engine)
    let value = try await value(of: found, destination)
    let revision: StoreRevision? = if case .value(let entry) = present { entry.revision } else { nil }
    let isOneStore = log.isWritable && found.allSatisfy { $0.resolved.store === store }
    let isDone = isOneStore && router.unprotected(sources, of: destination).isEmpty
    var operations: [WriteBatch.Operation] = isChecked(store) ? [.require(destination.key, revision)] : []
    operations.append(value.operation)
    let marks = isDone ? nil : found.map(\.mark)
    operations += try record(isDone ? .done : .copied, .migrated, of: marks, destination, log)
    if isOneStore { operations += found.flatMap { removal(of: $0) } }
    var written: [(key: KeyName, box: (any AnyBox)?)] = [(destination.key, value.box)]
    if isOneStore { written += found.map { ($0.resolved.key, nil) } }
    let commit: StoreCommit
    do {
      commit = try await store.commit(WriteBatch(operations), written, store.traits.union(destination.traits))
    } catch let error as StorageError where error.code == .preconditionFailed { return nil }
    let entry = try await engine.entry(destination.key)
    guard entry?.value == value.encoded.data else {
      guard entry?.revision == commit.revision || !isChecked(store) else { return nil }  // It was changed since.
      throw StorageError(
        .damaged, "The migrated value was not read back as it was written.",
        advice: "Check the store; the older value was kept.", location: engine.description, key: destination.key)
    }
    if isDone { return result(.migrated, found.count) }
    return try await remove(isOneStore ? [] : found, found.count, destination)
  }

  /// Removes older values whose new one is committed, if they are still those that were read.
  private func remove(
    _ found: [Source], _ count: Int, _ destination: StorageRouter.ResolvedKey
  ) async throws -> MigrationResult? {
    var left = found
    while let store = left.first?.resolved.store {
      let own = left.filter { $0.resolved.store === store }
      left.removeAll { $0.resolved.store === store }
      do {
        try await store.commit(WriteBatch(own.flatMap { removal(of: $0) }), own.map { ($0.resolved.key, nil) })
      } catch let error as StorageError where error.code == .preconditionFailed { return nil }
    }
    let log = try await MigrationLog(of: destination.key, in: destination.store.engine)
    return try await finish(.migrated, count, destination, log)
  }

  private func removal(of source: Source) -> [WriteBatch.Operation] {
    let key = source.resolved.key
    let condition: [WriteBatch.Operation] =
      isChecked(source.resolved.store) ? [.require(key, source.entry.revision)] : []
    return condition + [.delete(key)]
  }

  private func isChecked(_ store: TypedStore) -> Bool {
    store.engine.capabilities.contains([.preconditions, .revisions])
  }

  // MARK: Recording

  private func record(
    _ state: MigrationLog.Entry.State, _ outcome: MigrationResult.Outcome,
    of sources: [MigrationLog.Entry.Source]? = nil, remains: Bool = false, _ destination: StorageRouter.ResolvedKey,
    _ log: MigrationLog
  ) throws -> [WriteBatch.Operation] {
    try log.operations(
      recording: name, state, outcome, sources: sources, remains: remains,
      appVersion: router.configuration.appVersion, at: destination.store.engine.clock.now())
  }

  /// Records the end of the migration, and removes what the files of the older stores still hold of plain values.
  private func finish(
    _ outcome: MigrationResult.Outcome, _ count: Int, _ destination: StorageRouter.ResolvedKey, _ log: MigrationLog
  ) async throws -> MigrationResult? {
    let earlier = earlier(in: log)
    var debt: MigrationRemains.Debt?
    if outcome == .migrated || earlier?.state == .copied {
      debt = try await router.remains(of: sources, destination, name)
    }
    // It is removed after it was recorded, so that a killed run is continued.
    let remains = debt != nil || earlier?.state == .done && earlier?.remains == true
    // A second run that finds nothing does not hide what the first one has done.
    let isSame = earlier?.outcome == outcome && (earlier?.remains ?? false) == remains && count == 0
    let isKnown = earlier?.state == .done && (isSame || outcome == .nothingToMigrate)
    // The interrupted run of other keys is recognized by the revision of the record.
    let isInterruption = log.isInterrupted && earlier?.state != .copied && outcome != .migrated
    if !isKnown, log.isWritable, !isInterruption {
      let operations = try record(.done, outcome, remains: remains, destination, log)
      do { try await destination.store.commit(WriteBatch(operations), []) } catch let error as StorageError {
        if error.code == .preconditionFailed { return nil }
        // Where nothing was moved, a value can be read although that cannot be recorded, as on a full disk.
        if outcome == .migrated || earlier != nil { throw error }
      }
    }
    if let debt { await router.remains.add(debt) }
    return result(outcome, count)
  }

  /// Removes what a completed run has left of plain values. Moves nothing.
  func resumeRemoval() async throws {
    let destination = try await router.resolve(key)
    guard !destination.store.engine.isReadOnly,
      var debt = try await router.remains(of: sources, destination, name)
    else { return }
    debt.isResumed = true
    await router.remains.add(debt)
  }

  private func result(_ outcome: MigrationResult.Outcome, _ count: Int) -> MigrationResult {
    MigrationResult(success: true, migratedCount: count, metadata: ["outcome": .string(outcome.rawValue)])
  }
}

extension ValueMove.Source {
  fileprivate var mark: MigrationLog.Entry.Source { .init(key: identity, revision: entry.revision.rawValue) }
}

extension StorageKey {
  /// Reads the value of this older key, whose type is known here.
  fileprivate func read<K: StorageKey>(_ any: AnyStorageKey, _ move: ValueMove<K>) async throws -> ValueMove<K>.Source?
  {
    try await move.read(self, any)
  }
}
