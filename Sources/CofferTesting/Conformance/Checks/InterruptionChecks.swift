import CofferCore
import Foundation

/// The way to a store is cut and comes back: what cannot be seen is never taken for absent, and nothing happens twice.
enum InterruptionChecks {
  static let all = [reads, listings, commits]

  private static let reads = Check("while a store is away reads are unavailable, never absent") { bench in
    let interrupt = try bench.interruption()
    let (key, absent) = (try StoreKey("k"), try StoreKey("absent"))
    try await bench.commit(.put(key, bytes("v")), durability: .full)
    try await interrupt(true)
    for key in [key, absent] {
      try await bench.expect(.unavailable, from: "a read of \(shown(key))") { try await bench.engine.entry(key) }
      try await bench.expect(.unavailable, from: "entries(_:) of \(shown(key))") {
        try await bench.engine.entries([key])
      }
      try await bench.expect(.unavailable, from: "the question for \(shown(key))") {
        try await bench.engine.contains(key)
      }
    }
    try await interrupt(false)
    let entry = try await bench.onceBack { try await bench.engine.entry(key) }
    try bench.expect("the value after the interruption", entry?.value, equals: bytes("v"))
    try await bench.expectValue(absent, nil, "after the interruption")
  }

  private static let listings = Check(
    "while a store is away it lists nothing, and throws", requires: [.listing, .snapshots]
  ) { bench in
    let interrupt = try bench.interruption()
    try await bench.commit(.put(StoreKey("a"), bytes("1")), durability: .full)
    try await bench.commit(.put(StoreKey("b"), bytes("2")), durability: .full)
    try await interrupt(true)
    try await bench.expect(.unavailable, from: "a listing") { try await bench.keys() }
    try await bench.expect(.unavailable, from: "a listing without values") { try await bench.engine.summaries() }
    try await interrupt(false)
    let keys = try await bench.onceBack { try await bench.keys() }
    try bench.expect("the keys after the interruption", keys, equals: [StoreKey("a"), StoreKey("b")])
  }

  private static let commits = Check("after an interruption commits go on, each heard once and in order") { bench in
    let interrupt = try bench.interruption()
    let listener = try bench.listen()
    let (key, transaction) = (try StoreKey("k"), TransactionID())
    let before = try await bench.commit(.put(key, bytes("before")), durability: .full)
    try await interrupt(true)
    let code = try await bench.failure(of: "a commit while the store is away") {
      try await bench.commit(.put(key, bytes("meanwhile")), transaction: transaction, durability: .full)
    }
    try bench.expect(
      code == .unavailable || code == .outcomeUnknown,
      "Expected the commit to throw unavailable, or outcomeUnknown; it threw \(code).")
    try await interrupt(false)
    let after = try await bench.onceBack {
      try await bench.commit(.put(StoreKey("later"), bytes("x")), durability: .full)
    }
    let heard = try await listener.commits(upTo: after.revision)
    let revisions = heard.map(\.revision)
    try bench.expect("the order of what was heard", revisions, equals: Set(revisions).sorted())
    try bench.expect(
      "the commits before and after, as heard", heard.filter { $0 == before || $0 == after },
      equals: [before, after])
    let times = heard.count { $0.transaction == transaction }
    let limit = code == .outcomeUnknown ? 1 : 0
    try bench.expect(times <= limit, "Expected a commit that threw \(code) at most \(limit) times; heard it \(times).")
    try await bench.expectValue(key, bytes(times == 1 ? "meanwhile" : "before"), "after the interruption")
  }
}

extension Bench {
  /// What cuts the way to the store, or brings it back; ends the check where the suite was told of none.
  fileprivate func interruption() throws -> @Sendable (_ isCut: Bool) async throws -> Void {
    guard let interrupt = options.interrupt else { throw Skip(reason: "Options.interrupt is nil.") }
    let location = location
    return { try await interrupt(location, $0) }
  }

  /// The code with which something fails that cannot succeed now.
  fileprivate func failure<R>(
    of what: String, file: String = #fileID, line: UInt = #line, _ body: () async throws -> R
  ) async throws -> StorageError.Code {
    do { _ = try await body() } catch let error as StorageError { return error.code }
    throw Unmet(sentence: "Expected \(what) to fail; it succeeded.", file: file, line: line)
  }

  /// What `body` gives as soon as the store is not unavailable any more.
  fileprivate func onceBack<R: Sendable>(
    file: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withDeadline(options.deadline, "the store to be back", file: file, line: line) {
      while true {
        do { return try await body() } catch let error as StorageError where error.code == .unavailable {
          try await Task.sleep(for: .milliseconds(10))
        }
      }
    }
  }
}
