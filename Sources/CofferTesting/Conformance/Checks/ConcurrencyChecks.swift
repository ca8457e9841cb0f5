import CofferCore
import Foundation

/// Checks that concurrent commits are neither lost nor duplicated, and that a failing one affects no other.
enum ConcurrencyChecks {
  static let all = [writers, heardInOrder, badAlone, largeAlone, increments, cancelledBefore, cancelledDuring, latest]

  private static func keys(_ count: Int) throws -> [KeyName] { try (0..<count).map { try KeyName("key/\($0)") } }

  private static let writers = Check("64 concurrent writers all succeed, with distinct revisions") { bench in
    let keys = try keys(64)
    let engine = try bench.engine
    let commits = try await gather(keys) { key in
      let commit = try await engine.commit(WriteBatch([.put(key, bytes(key.string))]), from: StoreOrigin())
      let latest = engine.latestRevision
      guard latest >= commit.revision else {
        throw Unmet(
          sentence: "Expected latestRevision to be at least \(commit.revision) after it was returned; got \(latest).",
          file: #fileID, line: #line)
      }
      return commit
    }
    try bench.expect("the number of distinct revisions", Set(commits.map(\.revision)).count, equals: keys.count)
    for (key, commit) in zip(keys, commits) {
      try await bench.expectValue(key, bytes(key.string), "after 64 concurrent writers")
      try bench.expect(commit.changed.contains(key), "Expected each writer to receive its own commit.")
    }
  }

  private static let heardInOrder = Check("concurrent commits are delivered in the order of revisions") { bench in
    let listener = try bench.listen()
    let engine = try bench.engine
    let commits = try await gather(try keys(12)) { key in
      try await engine.commit(WriteBatch([.put(key, bytes("v"))], durability: .relaxed), from: StoreOrigin())
    }.sorted { $0.revision < $1.revision }
    let heard = try await listener.commits(upTo: commits[11].revision)
    try bench.expect("the commits received", heard, equals: commits)
  }

  private static let badAlone = Check(
    "a failed require fails only its own batch", requires: .preconditions
  ) { bench in
    try await bench.commit(.put(KeyName("taken"), bytes("v")))
    try await expectBadAlone(bench, code: .preconditionFailed) { key in
      WriteBatch([.require(KeyName("taken"), nil), .put(key, bytes("bad"))])
    }
  }

  private static let largeAlone = Check(
    "an oversized value fails only its own batch", maximumValueSize: 4_096
  ) { bench in
    let limit = try ValueChecks.cheapLimit(bench)
    try await expectBadAlone(bench, code: .valueTooLarge) { key in WriteBatch([.put(key, Data(count: limit + 1))]) }
  }

  /// Commits 64 concurrent batches, of which every eighth must fail with `code`.
  private static func expectBadAlone(
    _ bench: Bench, code: StorageError.Code, _ bad: @escaping @Sendable (KeyName) throws -> WriteBatch
  ) async throws {
    let keys = try keys(64)
    let engine = try bench.engine
    let outcomes = try await gather(Array(keys.enumerated())) { number, key -> StorageError.Code? in
      let batch = number % 8 == 3 ? try bad(key) : WriteBatch([.put(key, bytes("good"))])
      do {
        try await engine.commit(batch, from: StoreOrigin())
        return nil
      } catch let error as StorageError {
        return error.code
      }
    }
    for (number, key) in keys.enumerated() {
      let isBad = number % 8 == 3
      try bench.expect("the error of batch \(number)", outcomes[number], equals: isBad ? code : nil)
      try await bench.expectValue(key, isBad ? nil : bytes("good"), "of batch \(number)")
    }
  }

  private static let increments = Check(
    "concurrent increments with preconditions are not lost", requires: [.preconditions, .revisions]
  ) { bench in
    let key = KeyName("counter")
    let engine = try bench.engine
    _ = try await gather(Array(0..<8)) { _ in
      var rest = 4
      while rest > 0 {
        let entry = try await engine.entry(key)
        let count = entry.flatMap { Int(String(decoding: $0.value, as: UTF8.self)) } ?? 0
        let batch = WriteBatch(
          [.require(key, entry?.revision), .put(key, bytes("\(count + 1)"))], durability: .relaxed)
        do {
          try await engine.commit(batch, from: StoreOrigin())
          rest -= 1
        } catch let error as StorageError where error.code == .preconditionFailed {
          await Task.yield()
        }
      }
    }
    try await bench.expectValue(key, bytes("32"), "after 8 x 4 increments")
  }

  private static let cancelledBefore = Check("a commit cancelled before it begins writes nothing") { bench in
    let engine = try bench.engine
    let origin = bench.origin
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await engine.commit(WriteBatch([.put(KeyName("k"), bytes("v"))]), from: origin)
    }
    task.cancel()
    try await expectWholeOrNothing(bench, task, keys: [KeyName("k")])
  }

  private static let cancelledDuring = Check("a cancelled commit is applied as a whole or not at all") { bench in
    let engine = try bench.engine
    let isAtomic = engine.capabilities.contains(.atomicBatches)
    let all = try keys(64)
    let pairs = isAtomic ? stride(from: 0, to: 64, by: 2).map { [all[$0], all[$0 + 1]] } : all.map { [$0] }
    let tasks = pairs.map { keys in
      Task { try await engine.commit(WriteBatch(keys.map { .put($0, bytes("v")) }), from: StoreOrigin()) }
    }
    for (number, task) in tasks.enumerated() {
      task.cancel()
      if number.isMultiple(of: 4) { await Task.yield() }
    }
    for (task, keys) in zip(tasks, pairs) { try await expectWholeOrNothing(bench, task, keys: keys) }
  }

  private static func expectWholeOrNothing(_ bench: Bench, _ task: Task<StoreCommit, any Error>, keys: [KeyName])
    async throws
  {
    let isThere: Bool
    do {
      _ = try await task.value
      isThere = true
    } catch is CancellationError {
      isThere = false
    }
    for key in keys {
      try await bench.expectValue(
        key, isThere ? bytes("v") : nil, isThere ? "after its commit returned" : "after its commit was cancelled")
    }
  }

  private static let latest = Check("latestRevision never decreases") { bench in
    let engine = try bench.engine
    let watcher = Task {
      var last = StoreRevision.zero
      var wentBack: (from: StoreRevision, to: StoreRevision)?
      while !Task.isCancelled {
        let now = engine.latestRevision
        if now < last { wentBack = (last, now) }
        last = now
        await Task.yield()
      }
      return wentBack.map { "\($0.from) to \($0.to)" }
    }
    defer { watcher.cancel() }
    _ = try await gather(try keys(64)) { key in
      try await engine.commit(WriteBatch([.put(key, bytes("v"))], durability: .relaxed), from: StoreOrigin())
    }
    watcher.cancel()
    try bench.expect("a decrease of latestRevision", await watcher.value, equals: nil)
  }

  /// Runs `body` for all items concurrently and returns the results in the order of the items.
  private static func gather<Item: Sendable, R: Sendable>(
    _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> R
  ) async throws -> [R] {
    let tasks = items.map { item in Task { try await body(item) } }
    var results: [R] = []
    for task in tasks { results.append(try await task.value) }
    return results
  }
}
