import CofferCore
import Foundation

/// Checks that every subscriber receives every commit, once, in order and with its origin.
enum ChangeChecks {
  static let all = [
    threeSubscribers, transactionAndOrigin, sharedTransaction, madeTransaction, names, namesPrefix, fromNow,
    readsWhatItHears, abandoned, cancelled, availability, flush,
  ]

  private static let threeSubscribers = Check("three subscribers each receive every commit once, in order") { bench in
    let listeners = try (0..<3).map { _ in try bench.listen() }
    let expected = try await bench.commitMany(12).map(\.revision)
    guard let last = expected.last else { return }
    for (number, listener) in listeners.enumerated() {
      let heard = try await listener.commits(upTo: last, "subscriber \(number + 1) of 3").map(\.revision)
      try bench.expect("the revisions that subscriber \(number + 1) of 3 received", heard, equals: expected)
    }
  }

  private static let transactionAndOrigin = Check("a change carries the transaction and the origin of its commit") {
    bench in
    let listener = try bench.listen()
    let transaction = TransactionID()
    let commit = try await bench.commit(.put(KeyName("k"), bytes("v")), transaction: transaction)
    try bench.expect("the transaction of the commit", commit.transaction, equals: transaction)
    try bench.expect("the origin of the commit", commit.origin, equals: bench.origin)
    let heard = try await listener.commits(upTo: commit.revision)
    try bench.expect("the transaction of the change", heard.last?.transaction, equals: transaction)
    try bench.expect("the origin of the change", heard.last?.origin, equals: bench.origin)
  }

  private static let sharedTransaction = Check("several commits may share one transaction") { bench in
    let listener = try bench.listen()
    let transaction = TransactionID()
    var commits: [StoreCommit] = []
    for number in 0..<3 {
      commits.append(try await bench.commit(.put(KeyName("k/\(number)"), bytes("v")), transaction: transaction))
    }
    let heard = try await listener.commits(upTo: commits[2].revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: commits.map(\.revision))
    try bench.expect(
      "the transactions received", heard.map(\.transaction), equals: [transaction, transaction, transaction])
  }

  private static let madeTransaction = Check("a commit without a transaction gets a new one") { bench in
    let listener = try bench.listen()
    let commits = try await bench.commitMany(2)
    try bench.expect(
      commits.allSatisfy { $0.transaction != nil }, "Expected the engine to generate transaction identifiers; got nil.")
    try bench.expect(
      commits[0].transaction != commits[1].transaction, "Expected two transactions; both commits have the same.")
    let heard = try await listener.commits(upTo: commits[1].revision)
    try bench.expect("the transactions received", heard.map(\.transaction), equals: commits.map(\.transaction))
  }

  private static let names = Check("a change names the key that changed and no other") { bench in
    let listener = try bench.listen()
    let put = try await bench.commit(.put(KeyName("a"), bytes("1")))
    let delete = try await bench.commit(.delete(KeyName("a")))
    let last = try await bench.commit(.put(KeyName("b"), bytes("2")))
    let heard = try await listener.commits(upTo: last.revision)
    for (commit, name) in zip([put, delete, last] + heard, ["a", "a", "b", "a", "a", "b"]) {
      try bench.expect(
        commit.changed.contains(try KeyName(name)), "Expected a change of '\(name)'; got \(commit.changed).")
      for other in ["a", "b", "aa"] where other != name {
        try bench.expect(
          !commit.changed.contains(try KeyName(other)), "Expected no change of '\(other)'; got \(commit.changed).")
      }
    }
  }

  private static let namesPrefix = Check("a change names the prefix that was cleared", requires: .listing) { bench in
    try await bench.commit(.put(KeyName("p/1"), bytes("1")))
    let listener = try bench.listen()
    let prefix = try await bench.commit(.clear(prefix: KeyName("p/")))
    let everything = try await bench.commit(.clear(prefix: nil))
    let heard = try await listener.commits(upTo: everything.revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: [prefix.revision, everything.revision])
    try bench.expect(
      heard[0].changed.contains(KeyName("p/1")) && !heard[0].changed.contains(KeyName("q")),
      "Expected a change of only the keys that start with 'p/'; got \(heard[0].changed).")
    try bench.expect(
      heard[1].changed.contains(KeyName("p/1")) && heard[1].changed.contains(KeyName("q")),
      "Expected a change of every key; got \(heard[1].changed).")
  }

  private static let fromNow = Check("a new subscriber receives no earlier commits") { bench in
    _ = try await bench.commitMany(3)
    let stream = try bench.engine.changes(since: nil)
    // The stream is open when it is returned: commits made before the first read must be delivered.
    let commit = try await bench.commit(.put(KeyName("k"), bytes("new")))
    let heard = try await Listener(stream, deadline: bench.options.deadline).commits(upTo: commit.revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: [commit.revision])
  }

  private static let readsWhatItHears = Check("a delivered commit is visible to reads") { bench in
    let listener = try bench.listen()
    let writer = Task { try await bench.commitMany(12) }
    var heard = 0
    while heard < 12 {
      let count = heard
      let changes = try await listener.wait("a subscriber to receive 12 commits") { changes, isFinished in
        changes.count > count || isFinished
      }
      guard changes.count > count else { break }
      heard = changes.count
      let value = try await bench.engine.entry(KeyName("k"))?.value
      let number = value.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? -1
      try bench.expect(
        number >= heard - 1, "Expected the value of commit \(heard - 1) or later after its delivery; got \(number).")
      let latest = try bench.engine.latestRevision
      let last = changes[count..<heard].map(\.revision).max() ?? .zero
      try bench.expect(latest >= last, "Expected latestRevision to be at least \(last) after delivery; got \(latest).")
    }
    let commits = try await writer.value
    try bench.expect("the number of changes received", heard, equals: commits.count)
  }

  private static let abandoned = Check("a subscriber that never reads delays no other") { bench in
    let unread = try bench.engine.changes(since: nil)
    _ = try bench.engine.changes(since: nil)
    let listener = try bench.listen()
    let commits = try await bench.commitMany(12)
    let heard = try await listener.commits(upTo: commits[11].revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: commits.map(\.revision))
    withExtendedLifetime(unread) {}
  }

  private static let cancelled = Check("a cancelled subscriber ends without affecting the others") { bench in
    let first = try bench.listen()
    let second = try bench.listen()
    let before = try await bench.commit(.put(KeyName("k"), bytes("1")))
    _ = try await first.commits(upTo: before.revision)
    first.cancel()
    _ = try await first.untilEnd("the stream of a cancelled subscriber")
    let after = try await bench.commit(.put(KeyName("k"), bytes("2")))
    let heard = try await second.commits(upTo: after.revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: [before.revision, after.revision])
  }

  private static let availability = Check("availability delivers the current state first") { bench in
    for _ in 0..<2 {
      let listener = Listener(try bench.engine.availability(), deadline: bench.options.deadline)
      let heard = try await listener.wait("availability to deliver the current state") { states, isFinished in
        isFinished || !states.isEmpty
      }
      try bench.expect("the first state of an open store", heard.first, equals: .available)
    }
  }

  private static let flush = Check("flush succeeds") { bench in
    try await bench.engine.flush()
    try await bench.commit(.put(KeyName("k"), bytes("v")), durability: .relaxed)
    try await bench.engine.flush()
    try await bench.engine.flush()
    try await bench.expectValue(KeyName("k"), bytes("v"), "after flush")
  }
}
