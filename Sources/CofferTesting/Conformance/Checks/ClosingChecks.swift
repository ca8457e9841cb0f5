import CofferCore
import Foundation

/// Checks that every call of a closed handle throws `closed`.
enum ClosingChecks {
  static let all = [everyCall, twice, streamsEnd, subscribeAfter, racing]

  private static let everyCall = Check("after close every call throws closed") { bench in
    let engine = try bench.engine
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("v")))
    try await engine.close()
    let origin = bench.origin
    try await bench.expect(.closed, from: "entry after close") { try await engine.entry(key) }
    try await bench.expect(.closed, from: "entry of an absent key after close") {
      try await engine.entry(KeyName("absent"))
    }
    try await bench.expect(.closed, from: "entries after close") { try await engine.entries([key]) }
    try await bench.expect(.closed, from: "withSnapshot after close") { try await engine.withSnapshot { _ in } }
    for operation in [WriteBatch.Operation.put(key, bytes("w")), .delete(key)] {
      try await bench.expect(.closed, from: "commit after close") {
        try await engine.commit(WriteBatch([operation]), from: origin)
      }
    }
    try await bench.expect(.closed, from: "flush after close") { try await engine.flush() }
  }

  private static let twice = Check("closing twice is harmless") { bench in
    let engine = try bench.engine
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    try await engine.close()
    try await engine.close()
    try await bench.expect(.closed, from: "entry after closing twice") { try await engine.entry(KeyName("k")) }
  }

  private static let streamsEnd = Check("streams end at close") { bench in
    let engine = try bench.engine
    let waiting = try bench.listen()
    let availability = Listener(engine.availability(), deadline: bench.options.deadline)
    let unread = engine.changes(since: nil)
    let commits = try await bench.commitMany(3)
    _ = try await waiting.commits(upTo: commits[2].revision)
    try await engine.close()
    _ = try await waiting.untilEnd("a stream of changes after close")
    _ = try await availability.untilEnd("the stream of availability after close")
    // Changes that were not read before closing may be dropped, but not duplicated or reordered.
    let late = try await Listener(unread, deadline: bench.options.deadline).untilEnd("an unread stream after close")
    let heard = late.map(\.revision)
    try bench.expect(
      heard == Array(commits.map(\.revision).prefix(heard.count)) || heard == [commits[2].revision],
      "Expected an unread stream to deliver the commits in order, then to end; got revisions \(heard).")
  }

  private static let subscribeAfter = Check("a stream opened after close ends at once") { bench in
    let engine = try bench.engine
    try await engine.close()
    let changes = Listener(engine.changes(since: nil), deadline: bench.options.deadline)
    let heard = try await changes.untilEnd("a stream of changes opened after close")
    try bench.expect("the changes of a stream opened after close", heard, equals: [])
    let availability = Listener(engine.availability(), deadline: bench.options.deadline)
    _ = try await availability.untilEnd("a stream of availability opened after close")
  }

  private static let racing = Check("a commit racing with close is applied or refused") { bench in
    let engine = try bench.engine
    let tasks = try (0..<32).map { number in
      let key = try KeyName("key/\(number)")
      return Task { try await engine.commit(WriteBatch([.put(key, bytes("v"))]), from: StoreOrigin()) }
    }
    try await engine.close()
    var isThere: [Bool] = []
    for task in tasks {
      do {
        _ = try await task.value
        isThere.append(true)
      } catch let error as StorageError where error.code == .closed {
        isThere.append(false)
      }
    }
    guard engine.capabilities.contains(.persistence) else { return }
    _ = try await bench.reopen()
    for (number, isThere) in isThere.enumerated() {
      try await bench.expectValue(
        KeyName("key/\(number)"), isThere ? bytes("v") : nil,
        isThere ? "after its commit returned during close" : "after its commit was refused with closed")
    }
  }
}
