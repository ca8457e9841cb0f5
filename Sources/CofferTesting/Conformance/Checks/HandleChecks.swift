import CofferCore
import Foundation

/// Checks that two handles on one store read each other's writes and receive each other's commits.
enum HandleChecks {
  static let all = [reads, hears, requires, closesAlone, transactionAcross, immediate]

  private static let reads = Check("two handles read each other's writes") { bench in
    let other = try await bench.secondHandle()
    try await bench.commit(.put(KeyName("a"), bytes("1")))
    try await bench.expectValue(KeyName("a"), bytes("1"), "through the other handle", in: other.engine)
    try await other.engine.commit(
      WriteBatch([.put(KeyName("a"), bytes("2"))], durability: .relaxed), from: other.origin)
    try await bench.expectValue(KeyName("a"), bytes("2"), "after the other handle wrote it")
    try await bench.commit(.delete(KeyName("a")))
    try await bench.expectValue(KeyName("a"), nil, "through the other handle", in: other.engine)
  }

  private static let immediate = Check(
    "latestRevision of every handle includes each commit that has returned", requires: .immediateRevisions
  ) { bench in
    let other = try await bench.secondHandle()
    for number in 0..<50 {
      let batch = WriteBatch([.put(KeyName("k"), bytes("\(number)"))], durability: .relaxed)
      let isMine = number.isMultiple(of: 2)
      let commit =
        isMine
        ? try await bench.engine.commit(batch, from: bench.origin)
        : try await other.engine.commit(batch, from: other.origin)
      let latest = isMine ? other.engine.latestRevision : try bench.engine.latestRevision
      try bench.expect(
        latest >= commit.revision,
        "Expected the other handle's latestRevision to be \(commit.revision) or later at once; got \(latest).")
    }
  }

  private static let hears = Check("two handles receive each other's commits with their origin") { bench in
    let other = try await otherThatHears(bench)
    let mine = try bench.listen()
    let theirs = Listener(other.engine.changes(since: nil), deadline: bench.options.deadline)
    var commits: [StoreCommit] = []
    for number in 0..<6 {
      let batch = WriteBatch([.put(KeyName("k"), bytes("\(number)"))], durability: .relaxed)
      commits.append(
        number.isMultiple(of: 2)
          ? try await bench.engine.commit(batch, from: bench.origin)
          : try await other.engine.commit(batch, from: other.origin))
    }
    for (listener, who) in [(mine, "the first handle"), (theirs, "the second handle")] {
      let heard = try await listener.commits(upTo: commits[5].revision, who)
      try bench.expect("the revisions that \(who) received", heard.map(\.revision), equals: commits.map(\.revision))
      let expected = (0..<6).map { $0.isMultiple(of: 2) ? bench.origin : other.origin }
      try bench.expect("the origins that \(who) received", heard.map(\.origin), equals: expected)
    }
    let latest = try [bench.engine.latestRevision, other.engine.latestRevision]
    try bench.expect(
      latest.allSatisfy { $0 >= commits[5].revision },
      "Expected latestRevision of both to be at least \(commits[5].revision) after delivery; got \(latest).")
  }

  private static let transactionAcross = Check("a transaction identifier reaches the other handle") { bench in
    let other = try await otherThatHears(bench)
    let listener = Listener(other.engine.changes(since: nil), deadline: bench.options.deadline)
    let transaction = TransactionID()
    let commit = try await bench.commit(.put(KeyName("k"), bytes("v")), transaction: transaction)
    let heard = try await listener.commits(upTo: commit.revision, "the second handle")
    try bench.expect("the commit that the second handle received", heard, equals: [commit])
  }

  private static let requires = Check(
    "preconditions hold between two handles", requires: [.preconditions, .revisions]
  ) { bench in
    let other = try await bench.secondHandle()
    let key = KeyName("k")
    let seen = try await bench.commit(.put(key, bytes("1"))).revision
    try await other.engine.commit(WriteBatch([.require(key, seen), .put(key, bytes("2"))]), from: other.origin)
    try await bench.expect(.preconditionFailed, from: "a require at the revision before the other handle's write") {
      try await bench.commit(.require(key, seen), .put(key, bytes("3")))
    }
    try await bench.expectValue(key, bytes("2"), "after the second writer was refused")
  }

  private static let closesAlone = Check("closing one handle leaves the other open") { bench in
    guard bench.options.handles == .openAgain else {
      throw Skip(reason: "Options.handles is shareEngine: there is one engine to close.")
    }
    let other = try await bench.secondHandle()
    let first = try await other.engine.commit(WriteBatch([.put(KeyName("k"), bytes("1"))]), from: other.origin)
    let listener = try bench.listen()
    try await other.engine.close()
    try await bench.expect(.closed, from: "a read through the closed handle") {
      try await other.engine.entry(KeyName("k"))
    }
    try await bench.expectValue(KeyName("k"), bytes("1"), "after the other handle was closed")
    let commit = try await bench.commit(.put(KeyName("k"), bytes("2")))
    let heard = try await listener.commits(upTo: commit.revision)
    // Without immediate revisions, the handle may not have known of the first commit when it subscribed.
    let mayHearFirst = try !bench.engine.capabilities.contains(.immediateRevisions)
    let revisions = heard.map(\.revision).filter { !mayHearFirst || $0 > first.revision }
    try bench.expect("the revisions received", revisions, equals: [commit.revision])
    try bench.expect("the number of changes received, at most 2", heard.count <= 2, equals: true)
  }

  /// Returns a second handle whose commits the first must receive, or skips the check if that is not declared.
  private static func otherThatHears(
    _ bench: Bench
  ) async throws -> (engine: any StorageEngine, origin: StoreOrigin) {
    switch (bench.options.handles, try bench.engine.capabilities.contains(.foreignWriters)) {
    case (.openAgain, false):
      throw Skip(reason: "The engine does not declare foreignWriters, and its handles are opened separately.")
    case (.shareEngine, true):
      // Passing or skipping would hide that a declared feature is not tested.
      throw Unmet(
        sentence: "Expected Options.handles to be openAgain for an engine that declares foreignWriters; "
          + "it is shareEngine.",
        file: #fileID, line: #line)
    case (.openAgain, true), (.shareEngine, false): return try await bench.secondHandle()
    }
  }
}
