import CofferCore
import Foundation

/// Checks that a store which becomes unreachable never reports absence, and that no commit is applied twice.
enum InterruptionChecks {
  static let all = [reads, listings, commits]

  private static let reads = Check("while a store is unreachable, reads throw unavailable") { bench in
    let interrupt = try bench.interruption()
    let (key, absent) = (KeyName("k"), KeyName("absent"))
    try await bench.commit(.put(key, bytes("v")), durability: .full)
    try await interrupt(true)
    for key in [key, absent] {
      try await bench.expect(.unavailable, from: "a read of \(shown(key))") { try await bench.engine.entry(key) }
      try await bench.expect(.unavailable, from: "entries(_:) of \(shown(key))") {
        try await bench.engine.entries([key])
      }
      try await bench.expect(.unavailable, from: "contains(_:) of \(shown(key))") {
        try await bench.engine.contains(key)
      }
    }
    try await interrupt(false)
    let entry = try await bench.onceBack { try await bench.engine.entry(key) }
    try bench.expect("the value after the interruption", entry?.value, equals: bytes("v"))
    try await bench.expectValue(absent, nil, "after the interruption")
  }

  private static let listings = Check(
    "while a store is unreachable, listings throw unavailable", requires: [.listing, .snapshots]
  ) { bench in
    let interrupt = try bench.interruption()
    try await bench.commit(.put(KeyName("a"), bytes("1")), durability: .full)
    try await bench.commit(.put(KeyName("b"), bytes("2")), durability: .full)
    try await interrupt(true)
    try await bench.expect(.unavailable, from: "a listing") { try await bench.keys() }
    try await bench.expect(.unavailable, from: "a listing without values") { try await bench.engine.summaries() }
    try await interrupt(false)
    let keys = try await bench.onceBack { try await bench.keys() }
    try bench.expect("the keys after the interruption", keys, equals: [KeyName("a"), KeyName("b")])
  }

  private static let commits = Check("after an interruption, each commit is delivered once and in order") { bench in
    let interrupt = try bench.interruption()
    let listener = try bench.listen()
    let (key, transaction) = (KeyName("k"), TransactionID())
    let before = try await bench.commit(.put(key, bytes("before")), durability: .full)
    try await interrupt(true)
    let code = try await bench.failure(of: "a commit while the store is unreachable") {
      try await bench.commit(.put(key, bytes("meanwhile")), transaction: transaction, durability: .full)
    }
    try bench.expect(
      code == .unavailable || code == .outcomeUnknown,
      "Expected the commit to throw unavailable or outcomeUnknown; it threw \(code).")
    try await interrupt(false)
    let after = try await bench.onceBack {
      try await bench.commit(.put(KeyName("later"), bytes("x")), durability: .full)
    }
    let heard = try await listener.commits(upTo: after.revision)
    let revisions = heard.map(\.revision)
    try bench.expect("the order of the received revisions", revisions, equals: Set(revisions).sorted())
    try bench.expect(
      "the received commits from before and after", heard.filter { $0 == before || $0 == after },
      equals: [before, after])
    let times = heard.count { $0.transaction == transaction }
    let limit = code == .outcomeUnknown ? 1 : 0
    try bench.expect(
      times <= limit, "Expected a commit that threw \(code) at most \(limit) times; received it \(times) times.")
    try await bench.expectValue(key, bytes(times == 1 ? "meanwhile" : "before"), "after the interruption")
  }
}

extension Bench {
  /// Returns the closure that makes the store unreachable or reachable, or skips the check if there is none.
  fileprivate func interruption() throws -> @Sendable (_ isCut: Bool) async throws -> Void {
    guard let interrupt = options.interrupt else { throw Skip(reason: "Options.interrupt is nil.") }
    let location = location
    return { try await interrupt(location, $0) }
  }

  /// Runs a call that must fail and returns the code of its error.
  fileprivate func failure<R>(
    of what: String, file: String = #fileID, line: UInt = #line, _ body: () async throws -> R
  ) async throws -> StorageError.Code {
    do { _ = try await body() } catch let error as StorageError { return error.code }
    throw Unmet(sentence: "Expected \(what) to fail; it succeeded.", file: file, line: line)
  }

  /// Repeats `body` until the store is no longer unavailable, and returns its result.
  fileprivate func onceBack<R: Sendable>(
    file: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withDeadline(options.deadline, "the store to be available again", file: file, line: line) {
      while true {
        do { return try await body() } catch let error as StorageError where error.code == .unavailable {
          try await Task.sleep(for: .milliseconds(10))
        }
      }
    }
  }
}
