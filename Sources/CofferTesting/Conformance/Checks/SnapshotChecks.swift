import CofferCore
import Foundation

/// Checks that a snapshot shows one state of the store.
enum SnapshotChecks {
  static let all = [passesThrough, unchanged, pagesUnchanged, oneState, pagesAreOneState, ended, revision]

  private struct Probe: Error {}

  private static let passesThrough = Check(
    "withSnapshot returns or throws the result of its body",
    requires: .snapshots
  ) { bench in
    let number = try await bench.engine.withSnapshot { _ in 42 }
    try bench.expect("the result of withSnapshot", number, equals: 42)
    do {
      try await bench.engine.withSnapshot { _ in throw Probe() }
      try bench.expect(false, "Expected withSnapshot to throw the error of its body; it returned.")
    } catch is Probe {}
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    try await bench.expectValue(KeyName("k"), bytes("v"), "after a snapshot's body threw")
  }

  private static let unchanged = Check("a snapshot is unaffected by later writes", requires: .snapshots) { bench in
    let keys = try ["a", "b", "c"].map { try KeyName($0) }
    try await bench.commit(.put(keys[0], bytes("1")))
    try await bench.commit(.put(keys[1], bytes("2")))
    let seen = try await bench.engine.withSnapshot { snapshot in
      // A write precedes the first read, so that a snapshot taken only at the first read fails the check.
      let revision = snapshot.revision
      try await bench.commit(.put(keys[0], bytes("new")))
      let first = try await snapshot.entries(keys)
      try await bench.commit(.delete(keys[1]))
      try await bench.commit(.put(keys[2], bytes("3")))
      return (entries: [first, try await snapshot.entries(keys)], revisions: [revision, snapshot.revision])
    }
    try bench.expect("the revision of the snapshot afterwards", seen.revisions[1], equals: seen.revisions[0])
    for entries in seen.entries {
      try bench.expect(
        "the values in the snapshot", entries.map { $0?.value }, equals: [bytes("1"), bytes("2"), nil])
    }
    try await bench.expectValue(keys[0], bytes("new"), "after the snapshot")
    try await bench.expectValue(keys[1], nil, "after the snapshot")
  }

  private static let pagesUnchanged = Check(
    "a snapshot's pages are unaffected by later writes", requires: [.snapshots, .listing]
  ) { bench in
    let names = (0..<10).map { "key/\($0)" }
    for name in names { try await bench.commit(.put(KeyName(name), bytes("old"))) }
    let entries = try await bench.engine.withSnapshot { snapshot in
      var entries = try await snapshot.page(prefix: nil, after: nil, limit: 3)
      try await bench.commit(.delete(KeyName("key/5")))
      try await bench.commit(.put(KeyName("key/55"), bytes("new")))
      try await bench.commit(.put(KeyName("key/6"), bytes("new")))
      entries += try await snapshot.list(after: entries.last?.key, pageSize: 3)
      try await bench.commit(.clear(prefix: nil))
      return entries + (try await snapshot.list(pageSize: 4))
    }
    try bench.expect("the keys in the snapshot, twice", entries.map(\.key.string), equals: names + names)
    try bench.expect(
      "the values in the snapshot", entries.map(\.value), equals: entries.map { _ in bytes("old") })
  }

  private static let oneState = Check(
    "a snapshot never contains a part of a batch", requires: [.snapshots, .atomicBatches]
  ) { bench in
    let keys = try (0..<8).map { try KeyName("key/\($0)") }
    try await whileRewriting(bench, keys) {
      for _ in 0..<50 {
        let entries = try await bench.engine.withSnapshot { snapshot in
          // Two calls, since both must read the same state.
          try await snapshot.entries(Array(keys[..<4])) + snapshot.entries(Array(keys[4...]))
        }
        try expectOneState(bench, entries.map { $0?.value }, of: keys.count)
      }
    }
  }

  private static let pagesAreOneState = Check(
    "all pages of a snapshot show one state during writes", requires: [.snapshots, .listing, .atomicBatches]
  ) { bench in
    let keys = try (0..<20).map { try KeyName("key/\($0)") }
    try await whileRewriting(bench, keys) {
      for size in [1, 2, 7, 1_000, 3, 19, 20] {
        let entries = try await bench.engine.withSnapshot { try await $0.list(pageSize: size) }
        try expectOneState(bench, entries.map(\.value), of: keys.count)
      }
    }
  }

  /// Runs `body` while another task repeatedly writes a new value to all keys in one batch.
  private static func whileRewriting(
    _ bench: Bench, _ keys: [KeyName], _ body: @Sendable () async throws -> Void
  ) async throws {
    @Sendable func rewrite(_ generation: Int) async throws {
      let operations = keys.map { WriteBatch.Operation.put($0, bytes("\(generation)")) }
      try await bench.engine.commit(WriteBatch(operations, durability: .relaxed), from: bench.origin)
    }
    try await rewrite(0)
    let writer = Task {
      var generation = 0
      while !Task.isCancelled {
        generation += 1
        try await rewrite(generation)
        await Task.yield()
      }
    }
    defer { writer.cancel() }
    try await body()
    writer.cancel()
    do { try await writer.value } catch is CancellationError {}
  }

  private static func expectOneState(_ bench: Bench, _ values: [Data?], of count: Int) throws {
    try bench.expect("the number of entries", values.count, equals: count)
    try bench.expect(
      values.allSatisfy { $0 == values.first },
      "Expected the values of one batch in one snapshot; got \(shown(values)).")
  }

  private static let ended = Check("a snapshot used after its call throws closed", requires: .snapshots) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    let snapshot = try await bench.engine.withSnapshot { snapshot in
      _ = try await snapshot.entries([KeyName("k")])
      return snapshot
    }
    try await bench.expect(.closed, from: "entries of a snapshot that has ended") {
      try await snapshot.entries([KeyName("k")])
    }
    guard try bench.engine.capabilities.contains(.listing) else { return }
    try await bench.expect(.closed, from: "a page of a snapshot that has ended") {
      try await snapshot.page(prefix: nil, after: nil, limit: 1)
    }
  }

  private static let revision = Check("a snapshot has the revision of the latest commit", requires: .snapshots) {
    bench in
    for _ in 0..<3 {
      let commit = try await bench.commit(.put(KeyName("k"), bytes("v")))
      let revision = try await bench.engine.withSnapshot { $0.revision }
      try bench.expect("the snapshot's revision", revision, equals: commit.revision)
    }
  }
}
