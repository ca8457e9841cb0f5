import CofferCore
import Foundation

/// Checks that system records are committed with values but kept separate from them.
enum RecordChecks {
  static let all = [kept, apart, atomic, required, surviving, announced, refused]

  private static func name(_ text: String = "conformance/record") throws -> SystemRecord.Name {
    try SystemRecord.Name(text)
  }

  private static let kept = Check("a record is read as it was written", requires: .systemRecords) { bench in
    let (engine, name) = (try bench.engine, try name())
    try bench.expect("an absent record", try await engine.record(name), equals: nil)
    for content in [bytes("one"), Data(), Data(repeating: 0xFF, count: 100_000)] {
      let commit = try await bench.commit(.putRecord(name, content))
      let expected = SystemRecord(content: content, revision: commit.revision)
      try bench.expect("the record", try await engine.record(name), equals: expected)
    }
    try await bench.commit(.deleteRecord(name))
    try bench.expect("a deleted record", try await engine.record(name), equals: nil)
    try await bench.commit(.deleteRecord(name))
  }

  private static let apart = Check(
    "records are not listed, and clear does not remove them", requires: [.systemRecords, .listing, .snapshots]
  ) { bench in
    let (engine, name) = (try bench.engine, try name("k"))
    try await bench.commit(.putRecord(name, bytes("record")))
    try bench.expect("the value of the same name", try await engine.entry(KeyName("k")), equals: nil)
    try bench.expect("contains(_:) of the same name", try await engine.contains(KeyName("k")), equals: false)
    try await bench.expectKeys([], "beside a record")
    try await bench.commit(.put(KeyName("k"), bytes("value")))
    try await bench.commit(.clear(prefix: nil))
    try await bench.expectKeys([], "after clearing everything")
    try bench.expect("the record", try await engine.record(name)?.content, equals: bytes("record"))
  }

  private static let atomic = Check(
    "a batch changes records and values together", requires: [.systemRecords, .atomicBatches, .preconditions]
  ) { bench in
    let (engine, name) = (try bench.engine, try name())
    try await bench.commit(.put(KeyName("k"), bytes("1")), .putRecord(name, bytes("1")))
    try await bench.expect(.preconditionFailed, from: "a batch whose precondition does not hold") {
      try await bench.commit(
        .put(KeyName("k"), bytes("2")), .putRecord(name, bytes("2")), .require(KeyName("absent"), StoreRevision(1)))
    }
    try await bench.expectValue(KeyName("k"), bytes("1"), "after its batch failed")
    try bench.expect("the record", try await engine.record(name)?.content, equals: bytes("1"))
  }

  private static let required = Check(
    "a record can be a precondition", requires: [.systemRecords, .atomicBatches, .preconditions]
  ) { bench in
    let name = try name()
    let first = try await bench.commit(.requireRecord(name, nil), .putRecord(name, bytes("1")))
    for wrong in [nil, first.revision.next] {
      try await bench.expect(.preconditionFailed, from: "a batch that expects another state") {
        try await bench.commit(.requireRecord(name, wrong), .putRecord(name, bytes("2")))
      }
    }
    try await bench.commit(.requireRecord(name, first.revision), .putRecord(name, bytes("3")))
    try bench.expect("the record", try await bench.engine.record(name)?.content, equals: bytes("3"))
  }

  private static let surviving = Check("records survive closing", requires: [.systemRecords, .persistence]) { bench in
    let name = try name()
    let commit = try await bench.commit(.putRecord(name, bytes("kept")), durability: .full)
    let again = try await bench.reopen()
    let expected = SystemRecord(content: bytes("kept"), revision: commit.revision)
    try bench.expect("the record", try await again.record(name), equals: expected)
  }

  private static let announced = Check("a commit names the records that it changed", requires: .systemRecords) {
    bench in
    let name = try name()
    let listener = try bench.listen()
    let commit = try await bench.commit(.putRecord(name, bytes("1")))
    try bench.expect("the records that the commit names", commit.changed.records, equals: [name])
    try bench.expect("whether it names values", commit.changed.hasValues, equals: false)
    for case .commit(let heard) in try await listener.changes(upTo: commit.revision) {
      try bench.expect("the commit in the feed", heard, equals: commit)
    }
  }

  private static let refused = Check("without records, a batch with one is refused", lacks: .systemRecords) { bench in
    let name = try name()
    try await bench.expect(.unsupported, from: "a batch with a record") {
      try await bench.commit(.putRecord(name, bytes("v")))
    }
    try await bench.expect(.unsupported, from: "reading a record") { try await bench.engine.record(name) }
  }
}
