import CofferCore
import Foundation

/// Checks that a batch is applied as a whole or not at all, and its operations in order.
enum BatchChecks {
  static let all = [
    whole, oneRevision, sameKeyTwice, putThenDelete, deleteThenPut, clearThenPut, putThenClear, clearPrefixInOrder,
    largeBatch, failedRequire,
  ]

  private static let whole = Check("every operation of a batch is applied", requires: .atomicBatches) { bench in
    try await bench.commit(.put(KeyName("old"), bytes("0")))
    try await bench.commit(
      .put(KeyName("a"), bytes("1")), .put(KeyName("b"), bytes("2")), .delete(KeyName("old")),
      .put(KeyName("c"), bytes("3")))
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
      try await bench.expectValue(KeyName(name), bytes(value), "after a batch that put it")
    }
    try await bench.expectValue(KeyName("old"), nil, "after a batch that deleted it")
  }

  private static let oneRevision = Check(
    "a batch is one commit with one revision", requires: [.atomicBatches, .revisions]
  ) { bench in
    let commit = try await bench.commit(.put(KeyName("a"), bytes("1")), .put(KeyName("b"), bytes("2")))
    for name in ["a", "b"] {
      let entry = try await bench.engine.entry(KeyName(name))
      try bench.expect("the revision of '\(name)'", entry?.revision, equals: commit.revision)
    }
    let listener = try bench.listen()
    let second = try await bench.commit(.put(KeyName("a"), bytes("3")), .put(KeyName("b"), bytes("4")))
    let heard = try await listener.commits(upTo: second.revision)
    try bench.expect("the revisions delivered for one batch", heard.map(\.revision), equals: [second.revision])
  }

  private static let sameKeyTwice = Check("the last put of a key in a batch wins", requires: .atomicBatches) { bench in
    try await bench.commit(
      .put(KeyName("k"), bytes("1")), .put(KeyName("other"), bytes("x")), .put(KeyName("k"), bytes("2")))
    try await bench.expectValue(KeyName("k"), bytes("2"), "after a batch that put 1, then 2")
  }

  private static let putThenDelete = Check(
    "put, then delete in a batch leaves the key absent", requires: .atomicBatches
  ) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("1")), .delete(KeyName("k")))
    try await bench.expectValue(KeyName("k"), nil, "after a batch that put, then deleted it")
  }

  private static let deleteThenPut = Check(
    "delete, then put in a batch leaves the new value", requires: .atomicBatches
  ) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("1")))
    try await bench.commit(.delete(KeyName("k")), .put(KeyName("k"), bytes("2")))
    try await bench.expectValue(KeyName("k"), bytes("2"), "after a batch that deleted, then put it")
  }

  private static let clearThenPut = Check(
    "clear, then put in a batch leaves what was put", requires: [.atomicBatches, .listing, .snapshots]
  ) { bench in
    try await bench.commit(.put(KeyName("old"), bytes("0")))
    try await bench.commit(.clear(prefix: nil), .put(KeyName("new"), bytes("1")))
    try await bench.expectKeys(["new"], "after a batch that cleared, then put 'new'")
  }

  private static let putThenClear = Check(
    "put, then clear in a batch leaves nothing", requires: [.atomicBatches, .listing, .snapshots]
  ) { bench in
    try await bench.commit(.put(KeyName("old"), bytes("0")))
    try await bench.commit(.put(KeyName("new"), bytes("1")), .clear(prefix: nil))
    try await bench.expectKeys([], "after a batch that put, then cleared")
  }

  private static let clearPrefixInOrder = Check(
    "clearing a prefix in a batch affects only earlier operations", requires: [.atomicBatches, .listing, .snapshots]
  ) { bench in
    try await bench.commit(.put(KeyName("p/0"), bytes("0")))
    try await bench.commit(
      .put(KeyName("p/1"), bytes("1")), .put(KeyName("q"), bytes("1")), .clear(prefix: KeyName("p/")),
      .put(KeyName("p/2"), bytes("2")))
    try await bench.expectKeys(["p/2", "q"], "after a batch that cleared 'p/' between its puts")
  }

  private static let largeBatch = Check("a large batch is applied", requires: .atomicBatches) { bench in
    let count = bench.options.largeBatchSteps
    let operations = try (0..<count).map { WriteBatch.Operation.put(try KeyName("key/\($0)"), bytes("\($0)")) }
    try await bench.engine.commit(WriteBatch(operations, durability: .relaxed), from: bench.origin)
    for number in [0, 1, count / 2 - 1, count / 2, count - 2, count - 1] {
      try await bench.expectValue(KeyName("key/\(number)"), bytes("\(number)"), "after a batch of \(count) puts")
    }
  }

  private static let failedRequire = Check(
    "a failed batch leaves nothing behind", requires: [.atomicBatches, .preconditions]
  ) { bench in
    let before = try await bench.commit(.put(KeyName("kept"), bytes("1")))
    // The failing operation comes last, so that an engine that applies operations one by one fails the check.
    try await bench.expect(.preconditionFailed, from: "a batch whose require does not hold") {
      try await bench.commit(
        .put(KeyName("new"), bytes("2")), .put(KeyName("kept"), bytes("3")), .require(KeyName("kept"), nil))
    }
    try await bench.expectValue(KeyName("new"), nil, "after the batch that put it failed")
    try await bench.expectValue(KeyName("kept"), bytes("1"), "after the batch that changed it failed")
    try await bench.expect(.preconditionFailed, from: "a batch whose require does not hold") {
      try await bench.commit(
        .delete(KeyName("kept")), .require(KeyName("kept"), nil), .put(KeyName("new"), bytes("4")))
    }
    try await bench.expectValue(KeyName("new"), nil, "after the batch that put it failed")
    try await bench.expectValue(KeyName("kept"), bytes("1"), "after the batch that deleted it failed")
    let latest = try bench.engine.latestRevision
    try bench.expect("the revision after failed batches", latest, equals: before.revision)
  }
}
