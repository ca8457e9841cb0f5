import CofferCore

/// The removal of what stores still hold of plain values that were moved to protected keys: damaged copies in
/// quarantines, free pages, logs.
///
/// The record of each migration says that something may be left until it was removed, so that a later process
/// continues after a kill. A store is rewritten once for all keys whose values were moved out of it shortly before,
/// since that takes time proportional to its size, during which commits wait.
actor MigrationRemains {
  /// The size in bytes up to which a store is rewritten before the first access that migrates out of it returns.
  static let shortSize = 16 << 20

  /// Whether several keys are migrated, after which the caller settles.
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
    /// Whether it was tried before.
    var isResumed = false
  }

  private var pending: [Debt] = []
  private var round: Task<Void, Never>?
  /// Waits for further migrations.
  private var timer: Task<Void, Never>?
  private var isClosed = false
  /// The stores for which an access has waited.
  private var awaited: Set<ObjectIdentifier> = []

  /// Removes what is left of a migration: now, if this is the first one out of a small store, and otherwise a second
  /// after the last one.
  func add(_ debt: Debt) async {
    guard !isClosed else { return }  // The next process does it.
    pending.append(debt)
    // Without a record, nobody would continue.
    guard debt.destination.store.engine.keepsMigrationRecords else { return await settle() }
    // A program may end at once, and never close its router.
    let stores = debt.sources.map { ObjectIdentifier($0.store) }
    if !Self.isBatch, stores.contains(where: { awaited.insert($0).inserted }) { await settle(upTo: Self.shortSize) }
    guard !pending.isEmpty, !isClosed else { return }
    timer?.cancel()
    timer = Task {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      await settle()
    }
  }

  /// Removes what is left of all migrations. What another program prevents is tried again by the next call.
  /// - Parameter limit: the size in bytes from which a store is left to the next call; `nil` for none.
  func settle(upTo limit: Int? = nil) async {
    while let round { await round.value }
    guard !pending.isEmpty else { return }
    let debts = pending
    pending = []
    let task = Task {
      let left = await Self.pay(debts, upTo: limit)
      (round, pending) = (nil, pending + left)
    }
    round = task
    await task.value
  }

  /// Finishes, and accepts nothing more.
  func close() async {
    isClosed = true
    timer?.cancel()
    await settle()
  }

  /// Returns the debts that are not paid.
  private static func pay(_ debts: [Debt], upTo limit: Int?) async -> [Debt] {
    // The records before the removal: a value that is moved meanwhile changes them.
    var claims: [(debt: Debt, log: MigrationLog)] = []
    for debt in debts {
      let destination = debt.destination
      guard let log = try? await MigrationLog(of: destination.key, in: destination.store.engine) else { continue }
      // Otherwise another process has done it.
      if !log.isSupported || log.entry(of: debt.migration)?.remains == true { claims.append((debt, log)) }
    }
    var freed: [ObjectIdentifier: Bool] = [:]
    for store in claims.flatMap(\.debt.sources).map(\.store) where freed[ObjectIdentifier(store)] == nil {
      let own = claims.map(\.debt).filter { $0.sources.contains { $0.store === store } }
      let keys = Set(own.flatMap(\.sources).filter { $0.store === store }.map(\.key))
      freed[ObjectIdentifier(store)] = await remove(
        keys, from: store.engine, own.allSatisfy(\.isResumed), upTo: limit)
    }
    var left: [Debt] = []
    for (debt, log) in claims {
      if debt.isWhole, debt.sources.allSatisfy({ freed[ObjectIdentifier($0.store)] == true }) {
        let operations = (try? log.operations(recordingRemovalFor: debt.migration)) ?? []
        // What cannot be recorded is done again by the next process.
        if !operations.isEmpty { _ = try? await debt.destination.store.commit(WriteBatch(operations), []) }
      } else {
        var debt = debt
        debt.isResumed = debt.isResumed || limit == nil
        left.append(debt)
      }
    }
    return left
  }

  /// Returns whether the files of a store are free of removed values.
  private static func remove(
    _ keys: Set<KeyName>, from engine: any StorageEngine, _ isResumed: Bool, upTo limit: Int?
  ) async -> Bool {
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
      if hasWholeFiles, isResumed { return false }
      return try await engine.scrubFiles(upTo: limit) && !hasWholeFiles
    } catch { return false }
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
