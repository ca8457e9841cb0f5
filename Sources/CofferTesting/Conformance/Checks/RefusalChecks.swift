import CofferCore
import Foundation

/// Checks that undeclared features are refused, so that no caller comes to depend on them.
enum RefusalChecks {
  static let all = [coherent, batches, preconditions, snapshots, clearing, paging, replay, revisions, exists]

  private static let coherent = Check("the declared capabilities are consistent") { bench in
    let capabilities = try bench.engine.capabilities
    try bench.expect(
      !capabilities.contains(.listing) || capabilities.contains(.snapshots),
      "Expected an engine that declares listing to declare snapshots, since pages are read in one; it does not.")
    try bench.expect(
      !capabilities.contains(.preconditions) || capabilities.contains(.atomicBatches),
      "Expected an engine that declares preconditions to declare atomicBatches, since a require is an operation of a "
        + "batch; it does not.")
    try bench.expect(
      capabilities.maximumValueSize > 0, "Expected a limit above 0 bytes; got \(capabilities.maximumValueSize).")
    try bench.expect("the capabilities when read again", try bench.engine.capabilities, equals: capabilities)
  }

  private static let batches = Check(
    "without atomicBatches, a batch of several operations is refused", lacks: .atomicBatches
  ) { bench in
    try await bench.expect(.unsupported, from: "a batch of two puts") {
      try await bench.commit(.put(KeyName("a"), bytes("1")), .put(KeyName("b"), bytes("2")))
    }
    for name in ["a", "b"] { try await bench.expectValue(KeyName(name), nil, "after its batch was refused") }
  }

  private static let preconditions = Check("without preconditions, require is refused", lacks: .preconditions) {
    bench in
    try await bench.expect(.unsupported, from: "a require") { try await bench.commit(.require(KeyName("k"), nil)) }
    try await bench.expect(.unsupported, from: "a require before a put") {
      try await bench.commit(.require(KeyName("k"), nil), .put(KeyName("k"), bytes("v")))
    }
    try await bench.expectValue(KeyName("k"), nil, "after its batch was refused")
  }

  private static let snapshots = Check("without snapshots, withSnapshot is refused", lacks: .snapshots) { bench in
    try await bench.expect(.unsupported, from: "withSnapshot") { try await bench.engine.withSnapshot { $0.revision } }
  }

  private static let clearing = Check("without listing, clear is refused", lacks: .listing) { bench in
    try await bench.commit(.put(KeyName("p/1"), bytes("v")))
    for prefix in [nil, KeyName("p/"), KeyName("absent")] {
      try await bench.expect(.unsupported, from: "clear of prefix \(shown(prefix as Any))") {
        try await bench.commit(.clear(prefix: prefix))
      }
    }
    try await bench.expectValue(KeyName("p/1"), bytes("v"), "after clear was refused")
  }

  private static let paging = Check(
    "without listing, a snapshot refuses pages", requires: .snapshots, lacks: .listing
  ) { bench in
    try await bench.expect(.unsupported, from: "a page") {
      try await bench.engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) }
    }
  }

  private static let replay = Check("without replay, an earlier position yields commits or a reload", lacks: .replay) {
    bench in
    let commits = try await bench.commitMany(4)
    let heard = try await bench.listen(since: commits[0].revision).changes(upTo: commits[3].revision)
    try JournalChecks.expectNoGap(bench, heard, of: commits[1...].map(\.revision))
  }

  private static let revisions = Check("without revisions, entries are at revision zero", lacks: .revisions) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("v")))
    try bench.expect("the revision of an entry", try await bench.engine.entry(KeyName("k"))?.revision, equals: .zero)
  }

  private static let exists = Check("an adapter's exists agrees with its reads") { bench in
    let adapter = try await bench.adapter()
    for name in ["k", "caf\u{E9}", "../x"] {
      try bench.expect("exists of an absent key", await adapter.exists(key: name), equals: false)
      try await adapter.write(key: name, data: Data())
      try bench.expect("exists of a key with an empty value", await adapter.exists(key: name), equals: true)
      try bench.expect("its value", try await adapter.read(key: name), equals: Data())
      try await adapter.delete(key: name)
      try bench.expect("exists of a deleted key", await adapter.exists(key: name), equals: false)
      try bench.expect("the value of a deleted key", try await adapter.read(key: name), equals: nil)
    }
  }
}
