import CofferCore
import Foundation

/// Checks that attributes are stored with their values, and that listings agree with reads.
enum AttributeChecks {
  static let all = [
    kept, replaced, inBatches, limited, surviving, summaries, oneSummary, snapshotSummary, dates, refused,
  ]

  private static let first = ValueAttribute<UInt64>(applicationCode: 128)
  private static let second = ValueAttribute<String>(applicationCode: 200)

  private static func some(_ number: UInt64, _ text: String? = "caf\u{E9}") -> ValueAttributes {
    var attributes = ValueAttributes()
    attributes[first] = number
    attributes[second] = text
    return attributes
  }

  /// Returns only the attributes of these checks, since an engine may add others.
  private static func own(_ attributes: ValueAttributes?) -> ValueAttributes? {
    guard let attributes else { return nil }
    return some(attributes[first] ?? 0, attributes[second])
  }

  private static let kept = Check("attributes are returned with their value", requires: .attributes) { bench in
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("v"), some(7)))
    let entry = try await bench.engine.entry(key)
    try bench.expect("the value", entry?.value, equals: bytes("v"))
    try bench.expect("the attributes of an entry", own(entry?.attributes), equals: some(7))
    let several = try await bench.engine.entries([key, KeyName("absent")])
    try bench.expect("the attributes of several entries", several.map { own($0?.attributes) }, equals: [some(7), nil])
  }

  private static let replaced = Check("a put also replaces the attributes", requires: .attributes) { bench in
    let key = KeyName("k")
    for (attributes, expected) in [(some(1), some(1)), (some(2, nil), some(2, nil)), (.none, some(0, nil))] {
      try await bench.commit(.put(key, bytes("same"), attributes))
      try bench.expect(
        "the attributes after a put", own(try await bench.engine.entry(key)?.attributes), equals: expected)
    }
    try await bench.commit(.put(key, bytes("v"), some(3)))
    try await bench.commit(.delete(key))
    try await bench.commit(.put(key, bytes("v")))
    try bench.expect(
      "the attributes after a deletion", own(try await bench.engine.entry(key)?.attributes), equals: some(0, nil))
  }

  private static let inBatches = Check(
    "each value of a batch has its own attributes", requires: [.attributes, .atomicBatches]
  ) { bench in
    let keys = try (0..<40).map { try KeyName("key/\($0)") }
    var batch = WriteBatch()
    for (number, key) in keys.enumerated() { batch.put(key, bytes("v"), some(UInt64(number))) }
    try await bench.engine.commit(batch, from: bench.origin)
    for (number, key) in keys.enumerated() {
      try bench.expect(
        "the attributes of one of them", own(try await bench.engine.entry(key)?.attributes),
        equals: some(UInt64(number)))
    }
  }

  private static let limited = Check("attributes over the size limit are refused", requires: .attributes) { bench in
    let key = KeyName("k")
    var attributes = ValueAttributes()
    attributes[second] = String(repeating: "a", count: 1_000)
    try await bench.commit(.put(key, bytes("v"), attributes))
    try bench.expect(
      "long attributes", try await bench.engine.entry(key)?.attributes[second]?.utf8.count, equals: 1_000)
    attributes[first] = 1
    attributes[ValueAttribute<UInt64>(applicationCode: 129)] = 2
    attributes[ValueAttribute<UInt64>(applicationCode: 130)] = 3
    try await bench.expect(.valueTooLarge, from: "a put with too many attributes") {
      try await bench.commit(.put(key, bytes("w"), attributes))
    }
    try await bench.expectValue(key, bytes("v"), "after the put was refused")
  }

  private static let surviving = Check("attributes survive closing", requires: [.attributes, .persistence]) { bench in
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("v"), some(9)), durability: .full)
    let again = try await bench.reopen()
    try bench.expect("the attributes", own(try await again.entry(key)?.attributes), equals: some(9))
  }

  private static let summaries = Check("a listing agrees with reads", requires: [.listing, .snapshots]) { bench in
    let names = ["a", "b", "b/1", "b/2", "c"]
    for (number, name) in names.enumerated() {
      try await bench.commit(.put(KeyName(name), Data(repeating: 7, count: 10 * number)))
    }
    for (prefix, after, limit) in [(nil, nil, 10), ("b", nil, 10), ("b", "b", 1), (nil, "b/1", 2), ("x", nil, 3)]
      as [(String?, String?, Int)]
    {
      let (prefix, after) = (try prefix.map { try KeyName($0) }, try after.map { try KeyName($0) })
      let (entries, summaries) = try await bench.engine.withSnapshot { snapshot in
        (
          try await snapshot.page(prefix: prefix, after: after, limit: limit),
          try await snapshot.summaries(prefix: prefix, after: after, limit: limit)
        )
      }
      try bench.expect("the keys of a listing", summaries.map(\.key), equals: entries.map(\.key))
      try bench.expect("the revisions of a listing", summaries.map(\.revision), equals: entries.map(\.revision))
      try bench.expect("the attributes of a listing", summaries.map(\.attributes), equals: entries.map(\.attributes))
      for (summary, entry) in zip(summaries, entries) where summary.size != nil {
        try bench.expect("the size of '\(entry.key.string)'", summary.size, equals: entry.value.count)
      }
    }
  }

  private static let oneSummary = Check("the summary of a key agrees with reads") { bench in
    let key = KeyName("k")
    try bench.expect("contains(_:) of an absent key", try await bench.engine.contains(key), equals: false)
    let commit = try await bench.commit(.put(key, bytes("value")))
    try bench.expect("contains(_:) of a key with a value", try await bench.engine.contains(key), equals: true)
    let summary = try await bench.engine.summary(of: key)
    try bench.expect("its size", summary?.size ?? 5, equals: 5)
    try bench.expect(
      "its attributes", summary?.attributes, equals: try await bench.engine.entry(key)?.attributes)
    let hasRevisions = try bench.engine.capabilities.contains(.revisions)
    try bench.expect("its revision", summary?.revision, equals: hasRevisions ? commit.revision : .zero)
    try await bench.commit(.delete(key))
    try bench.expect("contains(_:) of a deleted key", try await bench.engine.contains(key), equals: false)
    try bench.expect("contains(_:) of a longer key", try await bench.engine.contains(KeyName("k/2")), equals: false)
  }

  private static let snapshotSummary = Check(
    "the summary of a key in a snapshot agrees with its reads", requires: .snapshots
  ) { bench in
    let (key, absent) = (KeyName("k"), KeyName("k/2"))
    try await bench.commit(.put(key, bytes("value")))
    let (summary, entry, none) = try await bench.engine.withSnapshot { snapshot in
      try await bench.commit(.delete(key))
      try await bench.commit(.put(absent, bytes("later")))
      return (
        try await snapshot.summary(of: key), try await snapshot.entries([key])[0],
        try await snapshot.summary(of: absent)
      )
    }
    try bench.expect("the revision of a removed key", summary?.revision, equals: entry?.revision)
    try bench.expect("its size", summary?.size ?? 5, equals: 5)
    try bench.expect("its attributes", summary?.attributes, equals: entry?.attributes)
    try bench.expect("the summary of a key that was added later", none?.key, equals: nil)
  }

  private static let dates = Check("a commit has the same date wherever it is reported") { bench in
    let before = Date()
    let listener = try bench.listen()
    let commit = try await bench.commit(.put(KeyName("k"), bytes("v")))
    try bench.expect(
      abs(commit.date.timeIntervalSince(before)) < 3_600 || commit.date < before,
      "Expected the date of a commit to be the current date; got \(commit.date).")
    let heard = try await listener.changes(upTo: commit.revision)
    for case .commit(let told) in heard { try bench.expect("the date in the feed", told.date, equals: commit.date) }
    if let told = try bench.engine.recentCommits(after: .zero)?.last {
      try bench.expect("the date of a recent commit", told.date, equals: commit.date)
    }
    if let date = try await bench.engine.summary(of: KeyName("k"))?.date {
      try bench.expect("the date in a listing", date, equals: commit.date)
    }
  }

  private static let refused = Check("without attributes, a put with attributes is refused", lacks: .attributes) {
    bench in
    try await bench.expect(.unsupported, from: "a put with attributes") {
      try await bench.commit(.put(KeyName("k"), bytes("v"), some(1)))
    }
    try await bench.expectValue(KeyName("k"), nil, "after the put was refused")
  }
}
