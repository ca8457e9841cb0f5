import CofferCore
import Foundation

/// Checks that commits since a revision are delivered completely, or replaced by a reload.
enum JournalChecks {
  static let all = [strictlyIncreasing, replay, replayThenLive, replayAll, recent, slowSubscriber, outrun]

  private static let strictlyIncreasing = Check("revisions increase with each commit, and latestRevision follows") {
    bench in
    var last = try bench.engine.latestRevision
    for number in 0..<20 {
      let operation: WriteBatch.Operation =
        number.isMultiple(of: 3) ? .delete(KeyName("k")) : .put(KeyName("k"), bytes("\(number)"))
      let commit = try await bench.commit(operation)
      let latest = try bench.engine.latestRevision
      try bench.expect(
        commit.revision > last, "Expected a revision after \(last); commit \(number) got \(commit.revision).")
      try bench.expect(
        latest >= commit.revision,
        "Expected latestRevision to be at least \(commit.revision) after it was returned; got \(latest).")
      last = commit.revision
    }
  }

  private static let replay = Check(
    "a subscriber at an earlier revision receives the later commits", requires: .replay
  ) { bench in
    let commits = try await bench.commitMany(8)
    for start in commits.indices.dropLast() {
      let heard = try await bench.listen(since: commits[start].revision).commits(upTo: commits[7].revision)
      try bench.expect(
        "the commits after revision \(commits[start].revision)", heard, equals: Array(commits[(start + 1)...]))
    }
  }

  private static let replayThenLive = Check("a replay continues with new commits", requires: .replay) { bench in
    let old = try await bench.commitMany(4)
    let atEarlier = try bench.listen(since: old[1].revision)
    let atLatest = try bench.listen(since: old[3].revision)
    _ = try await atEarlier.commits(upTo: old[3].revision)
    let new = try await bench.commitMany(4)
    let heard = try await atEarlier.commits(upTo: new[3].revision)
    try bench.expect("the commits of an earlier subscriber", heard, equals: Array(old[2...]) + new)
    let heardFromLatest = try await atLatest.commits(upTo: new[3].revision)
    try bench.expect("the commits of a subscriber at the latest revision", heardFromLatest, equals: new)
  }

  private static let replayAll = Check("a subscriber at revision zero receives every commit", requires: .replay) {
    bench in
    let commits = try await bench.commitMany(8)
    let heard = try await bench.listen(since: .zero).commits(upTo: commits[7].revision)
    let prepared = heard.prefix { $0.revision <= bench.initialRevision }
    try bench.expect("the values changed before", prepared.contains { $0.changed.hasValues }, equals: false)
    try bench.expect("the commits after revision zero", Array(heard.dropFirst(prepared.count)), equals: commits)
  }

  private static let recent = Check("recent commits are complete or nil") { bench in
    let start = try bench.engine.latestRevision
    let commits = try await bench.commitMany(8)
    let positions = [start] + commits.map(\.revision)
    for (index, position) in positions.enumerated() {
      guard let recent = try bench.engine.recentCommits(after: position) else { continue }
      try bench.expect("the recent commits after \(position)", recent, equals: Array(commits[index...]))
    }
  }

  private static let slowSubscriber = Check("a slow subscriber receives every commit or a reload") { bench in
    let stream = try bench.engine.changes(since: nil)
    let commits = try await bench.commitMany(min(bench.options.commitsToOutrunJournal ?? 100, 10_000))
    guard let last = commits.last else { return }
    let heard = try await Listener(stream, deadline: bench.options.deadline).changes(upTo: last.revision)
    try expectNoGap(bench, heard, of: commits.map(\.revision))
  }

  private static let outrun = Check("a subscriber behind the journal receives a reload", requires: .replay) { bench in
    guard let count = bench.options.commitsToOutrunJournal else {
      throw Skip(reason: "Options.commitsToOutrunJournal is nil.")
    }
    let first = try await bench.commit(.put(KeyName("k"), bytes("first")))
    // The subscriber already has the first commit, so `count` more must follow the one that it misses first.
    let commits = try await bench.commitMany(count + 1)
    guard let last = commits.last else { return }
    let listener = try bench.listen(since: first.revision)
    let heard = try await listener.changes(upTo: last.revision)
    guard case .reload? = heard.first else {
      throw Unmet(
        sentence: "Expected a reload for a subscriber \(count + 1) commits behind; got \(shown(heard)).",
        file: #fileID, line: #line)
    }
    try expectNoGap(bench, heard, of: commits.map(\.revision))
    let live = try await bench.commit(.put(KeyName("k"), bytes("live")))
    let all = try await listener.changes(upTo: live.revision)
    try bench.expect("the change after a reload", all.last, equals: .commit(live))
    let recent = try bench.engine.recentCommits(after: first.revision)
    try bench.expect(
      recent == nil || recent == commits + [live],
      "Expected recentCommits(after:) to be nil or complete; got \(recent?.count ?? 0) of \(count + 2) commits.")
  }

  /// Throws unless `changes` cover every revision once and in order, each by its commit or by a reload.
  static func expectNoGap(
    _ bench: Bench, _ changes: [StoreChange], of revisions: [StoreRevision], file: String = #fileID, line: UInt = #line
  ) throws {
    var rest = revisions[...]
    for (index, change) in changes.enumerated() {
      switch change {
      case .commit(let commit):
        try bench.expect(
          "the next revision received", commit.revision, equals: rest.popFirst() ?? .zero, file: file, line: line)
      case .reload(let revision):
        if index > 0, case .reload = changes[index - 1] {
          throw Unmet(sentence: "Expected one reload for missed commits; got two in a row.", file: file, line: line)
        }
        let covered = rest.prefix { $0 <= revision }.count
        try bench.expect(
          covered > 0, "Expected a reload to reach beyond the last change; got one up to \(revision).", file: file,
          line: line)
        rest = rest.dropFirst(covered)
      }
    }
    try bench.expect(
      rest.isEmpty, "Expected to receive every commit; \(rest.count) are missing.", file: file, line: line)
  }
}
