import CofferCore
import CofferLocks
import CofferTesting
import Foundation

extension Defect {
  static let all = writing + reading + listening + promising

  private static func without(_ batch: WriteBatch, _ isDropped: (WriteBatch.Operation) -> Bool) -> WriteBatch {
    WriteBatch(
      batch.operations.filter { !isDropped($0) }, transaction: batch.transaction, durability: batch.durability)
  }

  private static func isRequire(_ operation: WriteBatch.Operation) -> Bool {
    if case .require = operation { true } else { false }
  }

  private static let writing = [
    Defect("drops a batch's second half", failing: "every step of a batch happens") {
      $0.onCommit = { base, batch, origin in
        let half = Array(batch.operations.prefix((batch.operations.count + 1) / 2))
        return try await base.commit(WriteBatch(half, transaction: batch.transaction), from: origin)
      }
    },
    Defect("applies the steps of a failed batch", failing: "a failed batch leaves nothing behind") {
      $0.onCommit = { base, batch, origin in
        do {
          return try await base.commit(batch, from: origin)
        } catch {
          _ = try await base.commit(without(batch, isRequire), from: origin)
          throw error
        }
      }
    },
    Defect("ignores preconditions", failing: "require absent holds only for an absent key") {
      $0.onCommit = { try await $0.commit(without($1, isRequire), from: $2) }
    },
    Defect(
      "checks preconditions after the steps", failing: "require is checked against the state before the batch",
      byThrowing: true
    ) {
      $0.onCommit = { base, batch, origin in
        let commit = try await base.commit(without(batch, isRequire), from: origin)
        try await base.commit(without(batch) { !isRequire($0) }, from: origin)
        return commit
      }
    },
    Defect("merges Unicode forms", failing: "composed and decomposed forms of a word are two keys") {
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
          return .clear(prefix: try StoreKey(String(prefix.string.dropLast())))
        }
        return try await base.commit(WriteBatch(operations), from: origin)
      }
    },
    Defect(
      "answers with revisions that go backwards", failing: "revisions increase by commit, and latestRevision keeps up"
    ) {
      $0.onCommit = { base, batch, origin in
        let commit = try await base.commit(batch, from: origin)
        let revision = StoreRevision(1_000 - commit.revision.rawValue)
        return StoreCommit(
          revision: revision, transaction: commit.transaction, origin: origin, changed: commit.changed,
          date: commit.date)
      }
    },
    Defect("writes half of a cancelled batch", failing: "a commit cancelled before it began writes nothing") {
      $0.onCommit = { base, batch, origin in
        guard Task.isCancelled else { return try await base.commit(batch, from: origin) }
        _ = try await Task.detached { try await base.commit(batch, from: origin) }.value
        throw CancellationError()
      }
    },
    Defect(
      "writes what fits of an oversized batch", failing: "a value over the limit refuses its whole batch"
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

  private static func composed(_ key: StoreKey) throws -> StoreKey {
    try StoreKey(key.string.precomposedStringWithCanonicalMapping)
  }

  private static func bendingSnapshots(
    _ wrapper: inout Wrapper, _ page: @escaping SnapshotWrapper.Page
  ) {
    wrapper.onSnapshot = { SnapshotWrapper(base: $1, onPage: page) }
  }

  private static let reading = [
    Defect("forgets on reopening", failing: "values survive closing") { wrapper in
      wrapper.features = { $0.union(.persistence) }
    },
    Defect("answers absent after close", failing: "after close every call throws closed") {
      $0.onEntries = { base, keys in
        do {
          return try await base.entries(keys)
        } catch let error as StorageError where error.code == .closed {
          return keys.map { _ in nil }
        }
      }
    },
    Defect("skips the key at a page's boundary", failing: "pages of every size give every key once, in order") {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        let page = try await base.page(prefix: prefix, after: after, limit: limit + (after == nil ? 0 : 1))
        return after == nil ? page : Array(page.dropFirst())
      }
    },
    Defect("gives the boundary key again", failing: "pages of every size give every key once, in order") {
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
    Defect("takes a prefix for a pattern", failing: "a prefix is not a pattern") {
      bendingSnapshots(&$0) { base, prefix, after, limit in
        let isPattern = prefix.map { $0.string == "%" } ?? false
        return try await base.page(prefix: isPattern ? nil : prefix, after: after, limit: limit)
      }
    },
    Defect("shows later writes in a snapshot", failing: "a snapshot stays as it was while others write") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(base: snapshot, onEntries: { _, keys in try await engine.entries(keys) })
      }
    },
    Defect("pages through the present state", failing: "a snapshot's pages stay as they were while others write") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(
          base: snapshot,
          onPage: { _, prefix, after, limit in
            try await engine.withSnapshot { try await $0.page(prefix: prefix, after: after, limit: limit) }
          })
      }
    },
    Defect("lets a snapshot live on", failing: "a snapshot that is used after its call is closed") {
      $0.onSnapshot = { engine, snapshot in
        SnapshotWrapper(base: snapshot, onEntries: { _, keys in try await engine.entries(keys) })
      }
    },
  ]

  private static let listening = [
    Defect("echoes changes twice", failing: "three subscribers each hear every commit once, in order") {
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
    Defect("swallows commits", failing: "a slow subscriber misses nothing without being told") {
      $0 = $0.mappingChanges { $0.revision.rawValue.isMultiple(of: 7) ? [] : [$0] }
    },
    Defect("never begins in the past", failing: "a subscriber at an earlier revision hears what came after it") {
      $0.onChanges = { base, _ in base.changes(since: nil) }
    },
    Defect("always begins in the past", failing: "a subscriber from now hears nothing from before") {
      $0.onChanges = { base, position in position.map { base.changes(since: $0) } ?? base.changes(since: .zero) }
    },
    Defect("steals between subscribers", failing: "three subscribers each hear every commit once, in order") {
      wrapper in
      // One stream for all, of which every subscriber gets a share.
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
    Defect("hears only itself", failing: "two handles hear each other and know their own commits by origin") {
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
    Defect("closes the others' handles", failing: "closing one handle leaves the other open", byThrowing: true) {
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
      "declares snapshots that it does not have", failing: "a snapshot stays as it was while others write",
      byThrowing: true,
      open: { _ in
        var wrapper = Wrapper(base: AdapterEngine(MemoryAdapter()))
        wrapper.features = { $0.union(.snapshots) }
        return wrapper
      }),
    Defect(
      "declares atomic batches that it does not have", failing: "every step of a batch happens", byThrowing: true,
      open: { _ in
        var wrapper = Wrapper(base: AdapterEngine(MemoryAdapter()))
        wrapper.features = { $0.union(.atomicBatches) }
        return wrapper
      }),
    Defect(
      "says that it hears foreign writers, and has none",
      failing: "two handles hear each other and know their own commits by origin"
    ) {
      $0.features = { $0.union(.foreignWriters) }
    },
    Defect(
      "hears of others' commits later",
      failing: "a handle's latest revision is at once that of every commit that has returned",
      apart: { stores, location in LateHandle(base: stores.engine(at: location)) }),
    Defect("lists without declaring it", failing: "without listing, clear is refused") {
      $0.features = { $0.subtracting(.listing) }
    },
    Defect("pages without declaring it", failing: "without listing, a snapshot refuses pages") {
      $0.features = { $0.subtracting(.listing) }
    },
    Defect("takes batches without declaring it", failing: "without atomicBatches, a batch of steps is refused") {
      $0.features = { $0.subtracting(.atomicBatches) }
    },
    Defect("takes requires without declaring it", failing: "without preconditions, require is refused") {
      $0.features = { $0.subtracting(.preconditions) }
    },
    Defect("has snapshots without declaring it", failing: "without snapshots, withSnapshot is refused") {
      $0.features = { $0.subtracting(.snapshots) }
    },
    Defect("lists without snapshots", failing: "the declared capabilities belong together") {
      $0.features = { $0.subtracting(.snapshots) }
    },
  ]
}
