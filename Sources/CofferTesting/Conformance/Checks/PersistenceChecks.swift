import CofferCore
import Foundation

/// Checks that the content of a store survives closing and reopening.
enum PersistenceChecks {
  static let all = [values, unusualKeys, deletions, revisions, positions, afterwards, powerLoss]

  private static let values = Check("values survive closing", requires: .persistence) { bench in
    let large = min(100_000, try bench.engine.capabilities.maximumValueSize)
    let values = [Data(), Data([0]), Data(0...255), Data(repeating: 7, count: large)]
    for (number, value) in values.enumerated() {
      // Relaxed commits must survive closing as well.
      try await bench.commit(.put(KeyName("key/\(number)"), value), durability: number == 0 ? .full : .relaxed)
    }
    for _ in 0..<2 {
      _ = try await bench.reopen()
      for (number, value) in values.enumerated() {
        try await bench.expectValue(KeyName("key/\(number)"), value, "after reopening")
      }
    }
  }

  private static let unusualKeys = Check("unusual keys survive closing", requires: .persistence) { bench in
    let keys = try KeyChecks.evil.map { try KeyName($0) }
    for (number, key) in keys.enumerated() { try await bench.commit(.put(key, bytes("\(number)"))) }
    _ = try await bench.reopen()
    for (number, key) in keys.enumerated() {
      try await bench.expectValue(key, bytes("\(number)"), "after reopening")
    }
  }

  private static let deletions = Check("deletions survive closing", requires: .persistence) { bench in
    try await bench.commit(.put(KeyName("a"), bytes("1")))
    try await bench.commit(.put(KeyName("b"), bytes("2")))
    try await bench.commit(.delete(KeyName("a")))
    _ = try await bench.reopen()
    try await bench.expectValue(KeyName("a"), nil, "after deleting it and reopening")
    try await bench.expectValue(KeyName("b"), bytes("2"), "after reopening")
  }

  private static let revisions = Check("revisions continue after reopening", requires: .persistence) { bench in
    var last = try await bench.commitMany(3)[2].revision
    let entry = try await bench.engine.entry(KeyName("k"))
    for _ in 0..<2 {
      let engine = try await bench.reopen()
      let latest = engine.latestRevision
      try bench.expect(latest >= last, "Expected latestRevision to be at least \(last) after opening; got \(latest).")
      try bench.expect("the entry after reopening", try await engine.entry(KeyName("k")), equals: entry)
      let commit = try await bench.commit(.put(KeyName("other"), bytes("v")))
      try bench.expect(
        commit.revision > last, "Expected a revision later than \(last) after reopening; got \(commit.revision).")
      last = commit.revision
    }
  }

  private static let positions = Check(
    "a position in the journal survives closing", requires: [.persistence, .replay]
  ) { bench in
    let old = try await bench.commitMany(4)
    _ = try await bench.reopen()
    let new = try await bench.commitMany(2)
    let listener = try bench.listen(since: old[0].revision)
    let heard = try await listener.commits(upTo: new[1].revision)
    try bench.expect("the commits after a position that predates closing", heard, equals: Array(old[1...]) + new)
  }

  private static let powerLoss = Check("full commits survive power loss", requires: .powerLossSafety) { _ in
    throw Skip(reason: "Power loss cannot be simulated inside a process; the engine's own tests must cover it.")
  }

  private static let afterwards = Check(
    "a subscriber after reopening receives only new commits",
    requires: .persistence
  ) { bench in
    _ = try await bench.commitMany(4)
    _ = try await bench.reopen()
    let listener = try bench.listen()
    let commit = try await bench.commit(.put(KeyName("k"), bytes("new")))
    let heard = try await listener.commits(upTo: commit.revision)
    try bench.expect("the revisions received", heard.map(\.revision), equals: [commit.revision])
  }
}
