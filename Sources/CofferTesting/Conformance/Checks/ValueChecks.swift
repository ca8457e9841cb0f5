import CofferCore
import Foundation

/// Checks that values are read back byte for byte.
enum ValueChecks {
  static let all = [
    freshIsEmpty, emptyValue, oneByte, everyByte, largeValue, overwrite, absent, delete, deleteMissing, emptyBatch,
    severalEntries, limit, limitInBatch, durabilities, revisions,
  ]

  private static let freshIsEmpty = Check("a new store is empty, at revision zero") { bench in
    try bench.expect("the revision of a new store", try bench.engine.latestRevision, equals: bench.initialRevision)
    try await bench.expectValue(KeyName("k"), nil, "in a new store")
  }

  private static let emptyValue = Check("an empty value is kept, and is not absent") { bench in
    try await bench.commit(.put(KeyName("k"), Data()))
    try await bench.expectValue(KeyName("k"), Data(), "after putting an empty value")
  }

  private static let oneByte = Check("a value of one byte is kept") { bench in
    try await bench.commit(.put(KeyName("k"), Data([0])))
    try await bench.expectValue(KeyName("k"), Data([0]), "after putting one zero byte")
  }

  private static let everyByte = Check("every byte value is kept") { bench in
    let value = Data(0...255)
    try await bench.commit(.put(KeyName("k"), value))
    try await bench.expectValue(KeyName("k"), value, "after putting the bytes 0 to 255")
  }

  private static let largeValue = Check("a large value is kept") { bench in
    let size = min(bench.options.largeValueSize, try bench.engine.capabilities.maximumValueSize)
    // The period of the pattern is not a power of two, so that swapped pages are detected.
    var value = Data(count: size)
    value.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index % 251) }
    }
    try await bench.commit(.put(KeyName("k"), value))
    try await bench.expectValue(KeyName("k"), value, "after putting \(size) bytes")
  }

  private static let overwrite = Check("a put replaces the existing value") { bench in
    for value in ["first and long", "second", "", "third"] {
      try await bench.commit(.put(KeyName("k"), bytes(value)))
      try await bench.expectValue(KeyName("k"), bytes(value), "after overwriting it")
    }
  }

  private static let absent = Check("an absent key reads as nil") { bench in
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    try await bench.expectValue(KeyName("other"), nil, "when only 'k' was put")
    try await bench.expectValue(KeyName("K"), nil, "when only 'k' was put")
    try await bench.expectValue(KeyName("kk"), nil, "when only 'k' was put")
  }

  private static let delete = Check("a deleted key is absent, and can be put again") { bench in
    try await bench.commit(.put(KeyName("a"), bytes("1")))
    try await bench.commit(.put(KeyName("b"), bytes("2")))
    try await bench.commit(.delete(KeyName("a")))
    try await bench.expectValue(KeyName("a"), nil, "after deleting it")
    try await bench.expectValue(KeyName("b"), bytes("2"), "after deleting 'a'")
    try await bench.commit(.put(KeyName("a"), bytes("3")))
    try await bench.expectValue(KeyName("a"), bytes("3"), "after putting it again")
  }

  private static let deleteMissing = Check("deleting a missing key succeeds") { bench in
    try await bench.commit(.delete(KeyName("missing")))
    try await bench.expectValue(KeyName("missing"), nil, "after deleting it")
  }

  private static let emptyBatch = Check("an empty batch succeeds and changes nothing") { bench in
    let before = try await bench.commit(.put(KeyName("k"), bytes("v")))
    let commit = try await bench.commit()
    try bench.expect("the changes of an empty batch", commit.changed, equals: StoreSelection.none)
    try bench.expect(
      commit.revision >= before.revision,
      "Expected an empty batch to return a revision of at least \(before.revision); got \(commit.revision).")
    try await bench.expectValue(KeyName("k"), bytes("v"), "after an empty batch")
  }

  private static let severalEntries = Check("entries have the order of the requested keys") { bench in
    for name in ["a", "b", "c"] { try await bench.commit(.put(KeyName(name), bytes(name))) }
    let asked = ["c", "missing", "a", "c", "b"]
    let entries = try await bench.engine.entries(try asked.map { try KeyName($0) })
    let expected = asked.map { $0 == "missing" ? nil : bytes($0) }
    try bench.expect("the values of \(asked)", entries.map { $0?.value }, equals: expected)
    try bench.expect("the entries of no keys", try await bench.engine.entries([]), equals: [])
  }

  private static let limit = Check(
    "a value over the limit is refused with its key, one at the limit is kept",
    maximumValueSize: 4_096
  ) { bench in
    let limit = try cheapLimit(bench)
    try await bench.commit(.put(KeyName("k"), Data(count: limit)))
    try await bench.expectValue(KeyName("k"), Data(count: limit), "after putting exactly \(limit) bytes")
    let error = try await bench.expect(.valueTooLarge, from: "a value of \(limit + 1) bytes") {
      try await bench.commit(.put(KeyName("large"), Data(count: limit + 1)))
    }
    try bench.expect("the key that the error names", error.key, equals: KeyName("large"))
    try await bench.expectValue(KeyName("large"), nil, "after it was refused")
  }

  private static let limitInBatch = Check(
    "a batch with a value over the limit is refused as a whole",
    requires: .atomicBatches, maximumValueSize: 4_096
  ) { bench in
    let limit = try cheapLimit(bench)
    let error = try await bench.expect(.valueTooLarge, from: "a batch with a value of \(limit + 1) bytes") {
      try await bench.commit(
        .put(KeyName("before"), bytes("1")), .put(KeyName("large"), Data(count: limit + 1)),
        .put(KeyName("after"), bytes("2")))
    }
    try bench.expect("the key that the error names", error.key, equals: KeyName("large"))
    for name in ["before", "large", "after"] {
      try await bench.expectValue(KeyName(name), nil, "after its batch was refused")
    }
  }

  private static let durabilities = Check("both durabilities are accepted") { bench in
    try await bench.commit(.put(KeyName("relaxed"), bytes("1")), durability: .relaxed)
    try await bench.commit(.put(KeyName("full"), bytes("2")), durability: .full)
    try await bench.expectValue(KeyName("relaxed"), bytes("1"), "after a relaxed commit")
    try await bench.expectValue(KeyName("full"), bytes("2"), "after a full commit")
  }

  private static let revisions = Check("an entry has the revision of the commit that wrote it", requires: .revisions) {
    bench in
    let first = try await bench.commit(.put(KeyName("a"), bytes("1")))
    let second = try await bench.commit(.put(KeyName("b"), bytes("2")))
    try bench.expect(
      "the revision of 'a'", try await bench.engine.entry(KeyName("a"))?.revision, equals: first.revision)
    try bench.expect(
      "the revision of 'b'", try await bench.engine.entry(KeyName("b"))?.revision, equals: second.revision)
    // Writing the same bytes is a commit, too: a precondition at the old revision must fail.
    let third = try await bench.commit(.put(KeyName("a"), bytes("1")))
    try bench.expect(
      "the revision of 'a' after the same value was put again", try await bench.engine.entry(KeyName("a"))?.revision,
      equals: third.revision)
  }

  /// Returns the limit of the engine, or skips the check if a value over it would need too much memory.
  static func cheapLimit(_ bench: Bench) throws -> Int {
    let limit = try bench.engine.capabilities.maximumValueSize
    guard limit <= bench.options.largeValueSize else {
      throw Skip(
        reason: "The engine's limit of \(limit) bytes cannot be exceeded cheaply; apply Location.maximumValueSize.")
    }
    return limit
  }
}
