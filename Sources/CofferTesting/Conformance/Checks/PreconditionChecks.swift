import CofferCore
import Foundation

/// Checks that each `require` is compared with the state before the batch, and that a failed one refuses the batch.
enum PreconditionChecks {
  static let all = [absent, revision, wrongRevision, beforeTheBatch, requireAlone, namesTheKey, notAnnounced]

  private static let absent = Check("require absent succeeds only for an absent key", requires: .preconditions) {
    bench in
    let key = KeyName("k")
    try await bench.commit(.require(key, nil), .put(key, bytes("1")))
    try await bench.expectValue(key, bytes("1"), "after it was put where absent")
    try await bench.expect(.preconditionFailed, from: "require absent for a key that is present") {
      try await bench.commit(.require(key, nil), .put(key, bytes("2")))
    }
    try await bench.expectValue(key, bytes("1"), "after a refused put")
    try await bench.commit(.delete(key))
    try await bench.commit(.require(key, nil), .put(key, bytes("3")))
    try await bench.expectValue(key, bytes("3"), "after it was deleted and put where absent")
  }

  private static let revision = Check(
    "require at the current revision succeeds", requires: [.preconditions, .revisions]
  ) { bench in
    let key = KeyName("k")
    var seen = try await bench.commit(.put(key, bytes("0"))).revision
    // A commit of another key advances the revision of the store, not that of the entry.
    try await bench.commit(.put(KeyName("other"), bytes("x")))
    for number in 1...3 {
      seen = try await bench.commit(.require(key, seen), .put(key, bytes("\(number)"))).revision
      try await bench.expectValue(key, bytes("\(number)"), "after a put at its revision")
    }
  }

  private static let wrongRevision = Check(
    "require at another revision fails", requires: [.preconditions, .revisions]
  ) { bench in
    let key = KeyName("k")
    let old = try await bench.commit(.put(key, bytes("1"))).revision
    let present = try await bench.commit(.put(key, bytes("2"))).revision
    for (wrong, what) in [(old, "an older"), (present.next, "a later"), (.zero, "the zero")] {
      try await bench.expect(.preconditionFailed, from: "require at \(what) revision") {
        try await bench.commit(.require(key, wrong), .put(key, bytes("3")))
      }
    }
    try await bench.expect(.preconditionFailed, from: "require of a revision for an absent key") {
      try await bench.commit(.require(KeyName("absent"), present), .put(key, bytes("3")))
    }
    try await bench.expectValue(key, bytes("2"), "after refused puts")
  }

  private static let beforeTheBatch = Check(
    "require is checked against the state before the batch", requires: [.preconditions, .atomicBatches]
  ) { bench in
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("1")), .require(key, nil))
    try await bench.expectValue(key, bytes("1"), "after a batch that put it, then required it absent")
    try await bench.expect(.preconditionFailed, from: "delete, then require absent, of a key that is present") {
      try await bench.commit(.delete(key), .require(key, nil))
    }
    try await bench.expectValue(key, bytes("1"), "after that batch failed")
  }

  private static let requireAlone = Check("a batch of preconditions changes nothing", requires: .preconditions) {
    bench in
    let before = try bench.engine.latestRevision
    let commit = try await bench.commit(.require(KeyName("absent"), nil))
    try bench.expect("the changes of a batch of preconditions", commit.changed, equals: StoreSelection.none)
    try bench.expect(
      commit.revision >= before, "Expected a revision of at least \(before); got \(commit.revision).")
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    try await bench.expect(.preconditionFailed, from: "a batch of one require that does not hold") {
      try await bench.commit(.require(KeyName("k"), nil))
    }
  }

  private static let namesTheKey = Check("a failed require names its key", requires: .preconditions) { bench in
    try await bench.commit(.put(KeyName("taken"), bytes("v")))
    let error = try await bench.expect(.preconditionFailed, from: "a require that does not hold") {
      try await bench.commit(
        .require(KeyName("free"), nil), .require(KeyName("taken"), nil), .put(KeyName("free"), bytes("v")))
    }
    try bench.expect("the key that the error names", error.key, equals: KeyName("taken"))
  }

  private static let notAnnounced = Check("a failed batch is not delivered", requires: .preconditions) { bench in
    let listener = try bench.listen()
    let first = try await bench.commit(.put(KeyName("k"), bytes("1")))
    try await bench.expect(.preconditionFailed, from: "a require that does not hold") {
      try await bench.commit(.require(KeyName("k"), nil), .put(KeyName("k"), bytes("2")))
    }
    let last = try await bench.commit(.put(KeyName("k"), bytes("3")))
    let heard = try await listener.commits(upTo: last.revision).map(\.revision)
    try bench.expect("the revisions received", heard, equals: [first.revision, last.revision])
  }
}
