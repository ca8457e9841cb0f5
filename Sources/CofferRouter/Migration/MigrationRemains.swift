import CofferCore

/// The removal of what stores still hold of plain values that were moved to protected keys: damaged copies in
/// quarantines, free pages, logs.
///
/// The record of each migration says that something may be left until it was removed, so that a later process
/// continues after a kill. A store is rewritten once for all keys whose values were moved out of it meanwhile, since
/// that takes time proportional to its size, during which commits wait.
actor MigrationRemains {
  /// The size in bytes up to which a store is rewritten before the access that migrates returns.
  static let shortSize = 16 << 20

  /// Whether the caller settles what is added, after several migrations.
  @TaskLocal static var isBatch = false

  /// The older values of one migration, which are removed.
  struct Debt: Sendable {
    /// The older keys that were stored in plain.
    let sources: [StorageRouter.ResolvedKey]
    /// Whether these are all.
    let isWhole: Bool
    let destination: StorageRouter.ResolvedKey
    /// The name of the migration in the record.
    let migration: String
    /// Whether an earlier process has left it.
    var isResumed = false
  }

  private enum Outcome: Int {
    case removed
    /// Something is left that needs a decision or another program.
    case left
    /// Other programs use the store.
    case busy
    /// The store is larger than the limit.
    case large
  }

  private var pending: [Debt] = []
  private var round: Task<Void, Never>?
  /// The stores for which an access has waited.
  private var awaited: Set<ObjectIdentifier> = []
  private var isClosed = false

  /// Removes what is left of a migration: now, if this is the first one out of a small store, otherwise in the
  /// background.
  func add(_ debt: Debt) async {
    guard !isClosed else { return }  // The next process does it.
    pending.append(debt)
    guard !Self.isBatch else { return }
    // Without a record, nobody would continue.
    let isRecorded = debt.destination.store.engine.keepsMigrationRecords
    let stores = debt.sources.map { ObjectIdentifier($0.store) }
    guard isRecorded else { return await settle() }
    if stores.contains(where: { awaited.insert($0).inserted }) { return await settle(upTo: Self.shortSize) }
    if round == nil { _ = start(nil) }
  }

  /// Waits until everything that was added before has been tried.
  /// - Parameter limit: the size in bytes from which a store is rewritten after the call has returned; `nil` for none.
  func settle(upTo limit: Int? = nil) async {
    while let round { await round.value }
    await start(limit)?.value
  }

  /// Finishes, and accepts nothing more.
  func close() async {
    isClosed = true
    await settle()
  }

  private func start(_ limit: Int?) -> Task<Void, Never>? {
    guard !pending.isEmpty else { return nil }
    let debts = pending
    pending = []
    let task = Task {
      let left = await Self.pay(debts, upTo: limit)
      end(left)
    }
    round = task
    return task
  }

  private func end(_ left: [(debt: Debt, outcome: Outcome)]) {
    round = nil
    let mustContinue = !pending.isEmpty || left.contains { $0.outcome == .large }
    // What another program prevents is tried again with the next migration, and on closing.
    pending += left.filter { [.busy, .large].contains($0.outcome) }.map(\.debt)
    if mustContinue { _ = start(nil) }
  }

  // MARK: Removing

  private struct Claim {
    let debt: Debt
    /// The record before the removal: a value that is moved meanwhile changes it.
    let log: MigrationLog
  }

  /// Returns the debts that are not paid.
  private static func pay(_ debts: [Debt], upTo limit: Int?) async -> [(debt: Debt, outcome: Outcome)] {
    var claims: [Claim] = []
    for debt in debts {
      guard let log = try? await MigrationLog(of: debt.destination.key, in: debt.destination.store.engine) else {
        continue
      }
      // Otherwise another process has done it.
      guard !log.isSupported || log.entry(of: debt.migration)?.remains == true else { continue }
      claims.append(Claim(debt: debt, log: log))
    }
    var outcomes: [ObjectIdentifier: Outcome] = [:]
    for source in claims.flatMap(\.debt.sources) where outcomes[ObjectIdentifier(source.store)] == nil {
      let own = claims.filter { $0.debt.sources.contains { $0.store === source.store } }
      let keys = Set(own.flatMap(\.debt.sources).filter { $0.store === source.store }.map(\.key))
      let isResumed = own.allSatisfy(\.debt.isResumed)
      outcomes[ObjectIdentifier(source.store)] = await remove(keys, from: source.store.engine, isResumed, upTo: limit)
    }
    var (paid, left): ([Claim], [(debt: Debt, outcome: Outcome)]) = ([], [])
    for claim in claims {
      let all = claim.debt.sources.map { outcomes[ObjectIdentifier($0.store)] ?? .left }
      let outcome = all.max { $0.rawValue < $1.rawValue } ?? .removed
      if outcome == .removed, claim.debt.isWhole { paid.append(claim) } else { left.append((claim.debt, outcome)) }
    }
    await record(paid)
    return left
  }

  /// Removes what the files of a store hold of removed values.
  private static func remove(
    _ keys: Set<KeyName>, from engine: any StorageEngine, _ isResumed: Bool, upTo limit: Int?
  ) async -> Outcome {
    do {
      var hasWholeFiles = false
      if let quarantine = engine.quarantine {
        let values = try await quarantine.quarantinedValues()
        let own = values.filter { $0.key.map { keys.contains($0) } ?? false }
        if !own.isEmpty { try await quarantine.removeQuarantined(own.map(\.id)) }
        // A damaged file of many values is left to the user: it may be all that is left of the others.
        hasWholeFiles = values.contains { $0.key == nil }
      }
      // The files were rewritten before, and would be at each start.
      if hasWholeFiles, isResumed { return .left }
      guard try await engine.scrubFiles(upTo: limit) else { return .large }
      return hasWholeFiles ? .left : .removed
    } catch let error as StorageError where error.code == .busy { return .busy } catch { return .left }
  }

  /// Records that nothing is left, in one commit for each store. What cannot be recorded is done again later.
  private static func record(_ paid: [Claim]) async {
    for (_, claims) in Dictionary(grouping: paid, by: { ObjectIdentifier($0.debt.destination.store) }) {
      guard let store = claims.first?.debt.destination.store else { continue }
      let operations = claims.map { (try? $0.log.operations(recordingRemovalFor: $0.debt.migration)) ?? [] }
      let whole = operations.flatMap { $0 }
      guard !whole.isEmpty, (try? await store.commit(WriteBatch(whole), [])) == nil, claims.count > 1 else { continue }
      for single in operations where !single.isEmpty { _ = try? await store.commit(WriteBatch(single), []) }
    }
  }
}

extension StorageEngine {
  /// Whether the state of migrations can be recorded in the store.
  var keepsMigrationRecords: Bool {
    capabilities.contains([.systemRecords, .atomicBatches, .preconditions, .revisions])
  }
}

extension StorageRouter {
  /// Returns the older keys of a protected one whose values were stored in plain.
  nonisolated func unprotected(_ sources: [AnyStorageKey], of destination: ResolvedKey) -> [AnyStorageKey] {
    guard isProtected(destination.record.descriptor) else { return [] }
    return sources.filter { !isProtected($0.descriptor) }
  }

  private nonisolated func isProtected(_ key: StorageKeyDescriptor) -> Bool {
    key.isSensitive || key.isEncrypted || key.domain.isSecure || configuration.keepsSecrets(key.domain)
  }

  /// Returns what may be left of a migration's older values in plain; `nil` if nothing can be.
  /// - Throws: `CancellationError`.
  nonisolated func remains(
    of sources: [AnyStorageKey], _ destination: ResolvedKey, _ migration: String
  ) async throws -> MigrationRemains.Debt? {
    var (resolved, isWhole): ([ResolvedKey], Bool) = ([], true)
    for source in unprotected(sources, of: destination) {
      do {
        guard try await mayExist(source.descriptor.domain) else { continue }
        resolved.append(try await source.key.resolved(by: self))
      } catch let error as CancellationError { throw error } catch { isWhole = false }
    }
    guard !resolved.isEmpty || !isWhole else { return nil }
    return MigrationRemains.Debt(sources: resolved, isWhole: isWhole, destination: destination, migration: migration)
  }
}
