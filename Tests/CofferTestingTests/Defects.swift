import CofferCore
import CofferTesting
import Foundation

extension Defect {
  static let all = writing + reading + listening + promising + expiring

  private static func without(_ batch: WriteBatch, _ isDropped: (WriteBatch.Operation) -> Bool) -> WriteBatch {
    WriteBatch(
      batch.operations.filter { !isDropped($0) }, transaction: batch.transaction, durability: batch.durability)
  }

  private static func isRequire(_ operation: WriteBatch.Operation) -> Bool {
    if case .require = operation { true } else { false }
  }

  private static let writing = [
    Defect("drops the second half of a batch", failing: "every operation of a batch is applied") {
      $0.onCommit = { base, batch, origin in
        let half = Array(batch.operations.prefix((batch.operations.count + 1) / 2))
        return try await base.commit(WriteBatch(half, transaction: batch.transaction), from: origin)
      }
    },
    Defect("applies the operations of a failed batch", failing: "a failed batch leaves nothing behind") {
      $0.onCommit = { base, batch, origin in
        do {
          return try await base.commit(batch, from: origin)
        } catch {
          _ = try await base.commit(without(batch, isRequire), from: origin)
          throw error
        }
      }
    },
    Defect("ignores preconditions", failing: "require absent succeeds only for an absent key") {
      $0.onCommit = { try await $0.commit(without($1, isRequire), from: $2) }
    },
    Defect(
      "checks preconditions after the operations", failing: "require is checked against the state before the batch",
      byThrowing: true
    ) {
      $0.onCommit = { base, batch, origin in
        let commit = try await base.commit(without(batch, isRequire), from: origin)
        try await base.commit(without(batch) { !isRequire($0) }, from: origin)
        return commit
      }
    },
    Defect("merges Unicode forms", failing: "composed and decomposed forms of a word are distinct keys") {
      $0.onCommit = { base, batch, origin in
        let operations = try batch.operations.map { operation in
          guard case .put(let key, let data, _) = operation else { return operation }
          return .put(try composed(key), data)
        }
        return try await base.commit(WriteBatch(operations), from: origin)
      }
      $0.onEntries = { base, keys in
        let entries = try await base.entries(try keys.map(composed))
        return zip(keys, entries).map { key, entry in
          entry.map { StoreEntry(key: key, value: $0.value, revision: $0.revision) }
        }
      }
    },
    Defect("clears one character more than the prefix", failing: "clear of a prefix leaves its neighbours") {
      $0.onCommit = { base, batch, origin in
        let operations = try batch.operations.map { operation in
          guard case .clear(let prefix?) = operation, prefix.string.count > 1 else { return operation }
          return .clear(prefix: try KeyName(String(prefix.string.dropLast())))
        }
        return try await base.commit(WriteBatch(operations), from: origin)
      }
    },
    Defect(
      "returns decreasing revisions", failing: "revisions increase with each commit, and latestRevision follows"
    ) {
      $0.onCommit = { base, batch, origin in
        let commit = try await base.commit(batch, from: origin)
        let revision = StoreRevision(1_000 - commit.revision.rawValue)
        return StoreCommit(
          revision: revision, transaction: commit.transaction, origin: origin, changed: commit.changed,
          date: commit.date)
      }
    },
    Defect("writes half of a cancelled batch", failing: "a commit cancelled before it begins writes nothing") {
      $0.onCommit = { base, batch, origin in
        guard Task.isCancelled else { return try await base.commit(batch, from: origin) }
        _ = try await Task.detached { try await base.commit(batch, from: origin) }.value
        throw CancellationError()
      }
    },
    Defect(
      "writes the smaller values of an oversized batch",
      failing: "a batch with a value over the limit is refused as a whole"
    ) {
      $0.onCommit = { base, batch, origin in
        do {
          return try await base.commit(batch, from: origin)
        } catch let error as StorageError where error.code == .valueTooLarge {
          for operation in batch.operations { _ = try? await base.commit(WriteBatch([operation]), from: origin) }
          throw error
        }
      }
    },
  ]

  private static func composed(_ key: KeyName) throws -> KeyName {
    try KeyName(key.string.precomposedStringWithCanonicalMapping)
  }

  private static func bendingSnapshots(
    _ wrapper: inout Wrapper, _ page: @escaping SnapshotWrapper.Page
  ) {
    wrapper.onSnapshot = { SnapshotWrapper(base: $1, onPage: page) }
  }

  private static let reading = [
    Defect("loses values on reopening", failing: "values survive closing") { wrapper in
      wrapper.features = { $0.union(.persistence) }
    },
    Defect("reports absence after close", failing: "after close every call throws closed") {
      $0.onEntries = { base, keys in
        do {
          return try await base.entries(keys)
        } catch let error as StorageError where error.code == .closed {
          return keys.map { _ in nil }
        }
      }
    },
    Defect("skips the key at a page boundary", failing: "pages of any size contain every key once, in order") {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        let page = try await base.page(prefix: prefix, after: after, limit: limit + (after == nil ? 0 : 1))
        return after == nil ? page : Array(page.dropFirst())
      }
    },
    Defect("repeats the boundary key", failing: "pages of any size contain every key once, in order") {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        var page = try await base.page(prefix: prefix, after: after, limit: limit)
        if let after, let entry = try await base.entries([after])[0] { page = [entry] + page.dropLast() }
        return page
      }
    },
    Defect(
      "lists in the order of String", failing: "unusual keys are listed byte for byte, in the order of their bytes"
    ) {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        let all = try await base.page(prefix: prefix, after: nil, limit: .max)
          .sorted { $0.key.string < $1.key.string }
        let rest = after.map { after in all.filter { $0.key.string > after.string } } ?? all
        return Array(rest.prefix(limit))
      }
    },
    Defect("treats a prefix as a pattern", failing: "a prefix is not a pattern") {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        let isPattern = prefix.map { $0.string == "%" } ?? false
        return try await base.page(prefix: isPattern ? nil : prefix, after: after, limit: limit)
      }
    },
    Defect("shows later writes in a snapshot", failing: "a snapshot is unaffected by later writes") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(base: snapshot, onEntries: { _, keys in try await engine.entries(keys) })
      }
    },
    Defect("pages through the current state", failing: "a snapshot's pages are unaffected by later writes") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(
          base: snapshot,
          onPage: { _, prefix, after, limit in
            try await engine.withSnapshot { try await $0.page(prefix: prefix, after: after, limit: limit) }
          })
      }
    },
    Defect("keeps a snapshot usable after its call", failing: "a snapshot used after its call throws closed") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(base: snapshot, onEntries: { _, keys in try await engine.entries(keys) })
      }
    },
  ]

  private static let listening = [
    Defect("delivers changes twice", failing: "three subscribers each receive every commit once, in order") {
      $0 = $0.mappingChanges { [$0, $0] }
    },
    Defect("loses the origin", failing: "a change carries the transaction and the origin of its commit") {
      $0 = $0.mappingChanges { change in
        guard case .commit(let commit) = change else { return [change] }
        return [
          .commit(
            StoreCommit(
              revision: commit.revision, transaction: commit.transaction, origin: nil, changed: commit.changed,
              date: commit.date))
        ]
      }
    },
    Defect("drops commits", failing: "a slow subscriber receives every commit or a reload") {
      $0 = $0.mappingChanges { $0.revision.rawValue.isMultiple(of: 7) ? [] : [$0] }
    },
    Defect(
      "ignores the position of a subscriber", failing: "a subscriber at an earlier revision receives the later commits"
    ) {
      $0.onChanges = { base, _ in base.changes(since: nil) }
    },
    Defect("replays the journal without a position", failing: "a new subscriber receives no earlier commits") {
      $0.onChanges = { base, position in position.map { base.changes(since: $0) } ?? base.changes(since: .zero) }
    },
    Defect(
      "splits changes between subscribers", failing: "three subscribers each receive every commit once, in order"
    ) { wrapper in
      // One stream, of which every subscriber receives a share.
      let subscribers = Locked(UInt64(0))
      wrapper.onChanges = { base, revision in
        let number = subscribers.withLock { count in
          count += 1
          return count
        }
        return Wrapper(base: base).mappingChanges { change in
          let share = subscribers.withLock { change.revision.rawValue % $0 + 1 }
          return share == number ? [change] : []
        }.changes(since: revision)
      }
    },
    Defect("never ends streams at close", failing: "streams end at close") {
      $0.onChanges = { base, revision in
        let source = base.changes(since: revision)
        let (stream, continuation) = AsyncStream.makeStream(of: StoreChange.self)
        let relay = Task {
          for await change in source { continuation.yield(change) }
        }
        continuation.onTermination = { _ in relay.cancel() }
        return stream
      }
    },
    Defect("delivers only its own commits", failing: "two handles receive each other's commits with their origin") {
      stores, location in
      let mine = Locked<[StoreRevision]>([])
      var wrapper = Wrapper(base: HandleEngine(stores.engine(at: location)))
      wrapper.onCommit = { base, batch, origin in
        let commit = try await base.commit(batch, from: origin)
        mine.withLock { $0.append(commit.revision) }
        return commit
      }
      return wrapper.mappingChanges { change in mine.withLock { $0.contains(change.revision) } ? [change] : [] }
    },
    Defect("closes the other handles", failing: "closing one handle leaves the other open", byThrowing: true) {
      stores, location in
      let shared = stores.engine(at: location)
      var wrapper = Wrapper(base: HandleEngine(shared))
      wrapper.onClose = { base in
        try await base.close()
        try await shared.close()
      }
      return wrapper
    },
  ]

  private static let promising = [
    Defect(
      "declares snapshots without having them", failing: "a snapshot is unaffected by later writes",
      byThrowing: true,
      open: { _ in
        var wrapper = Wrapper(base: AdapterEngine(MemoryAdapter()))
        wrapper.features = { $0.union(.snapshots) }
        return wrapper
      }),
    Defect(
      "declares atomic batches without having them", failing: "every operation of a batch is applied", byThrowing: true,
      open: { _ in
        var wrapper = Wrapper(base: AdapterEngine(MemoryAdapter()))
        wrapper.features = { $0.union(.atomicBatches) }
        return wrapper
      }),
    Defect(
      "declares foreign writers with a shared engine",
      failing: "two handles receive each other's commits with their origin"
    ) {
      $0.features = { $0.union(.foreignWriters) }
    },
    Defect(
      "learns of foreign commits late",
      failing: "latestRevision of every handle includes each commit that has returned",
      apart: { stores, location in LateHandle(base: stores.engine(at: location)) }),
    Defect("lists without declaring it", failing: "without listing, clear is refused") {
      $0.features = { $0.subtracting(.listing) }
    },
    Defect("pages without declaring it", failing: "without listing, a snapshot refuses pages") {
      $0.features = { $0.subtracting(.listing) }
    },
    Defect(
      "accepts batches without declaring them",
      failing: "without atomicBatches, a batch of several operations is refused"
    ) {
      $0.features = { $0.subtracting(.atomicBatches) }
    },
    Defect("accepts preconditions without declaring them", failing: "without preconditions, require is refused") {
      $0.features = { $0.subtracting(.preconditions) }
    },
    Defect("has snapshots without declaring them", failing: "without snapshots, withSnapshot is refused") {
      $0.features = { $0.subtracting(.snapshots) }
    },
    Defect("declares listing without snapshots", failing: "the declared capabilities are consistent") {
      $0.features = { $0.subtracting(.snapshots) }
    },
  ]
}
