import Coffer
import CofferCore
import Foundation
import Testing

@testable import CofferCommand

/// Copies with engines that the command itself never opens: engines that refuse values, and engines without batches.
@Suite("Copying between engines")
struct CopierTests {
  private func store(_ values: KeyValuePairs<String, String>, limit: Int = 1 << 20) async throws -> MemoryEngine {
    let engine = MemoryEngine(name: "\(values.count)", maximumValueSize: limit)
    let puts = try values.map { WriteBatch.Operation.put(try KeyName($0.key), Data($0.value.utf8)) }
    if !puts.isEmpty { try await engine.commit(WriteBatch(puts), from: StoreOrigin()) }
    return engine
  }

  private func copy(_ from: any StorageEngine, _ to: any StorageEngine) async throws -> Copier.Tally {
    try await Copier(from: from, to: to, prefix: nil, isQuiet: true).run()
  }

  private func keys(_ engine: any StorageEngine) async throws -> [String] {
    try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }.map(\.key.string)
  }

  @Test("A value that is too large for TO is skipped, the others are copied")
  func tooLarge() async throws {
    let from = try await store(["a": "1", "b": "12345", "c": "1234"])
    let to = try await store([:], limit: 4)
    let tally = try await copy(from, to)
    #expect(tally.copied == 2 && tally.copiedBytes == 5)
    #expect(tally.skipped.map(\.key.string) == ["b"] && tally.skipped.first?.error.code == .valueTooLarge)
    #expect(try await keys(to) == ["a", "c"])
  }

  @Test("A value that TO refuses at the commit is skipped, the others are copied")
  func refusedLate() async throws {
    let from = try await store(["a": "1", "b": "2", "c": "3"])
    let to = FussyEngine(try await store([:]), refused: "b")
    let tally = try await copy(from, to)
    #expect(tally.copied == 2 && tally.copiedBytes == 2 && tally.skipped.map(\.key.string) == ["b"])
    #expect(try await keys(to.base) == ["a", "c"])
  }

  @Test("A page that fails for one value loses none of the others")
  func fussyPages() async throws {
    let from = FussyEngine(
      try await store(["a": "1", "b": "2", "c": "3", "d": "4", "e": "5"]), damaged: "c", locked: "d")
    let to = try await store([:])
    let tally = try await copy(from, to)
    #expect(try await keys(to) == ["a", "b", "e"])
    #expect(tally.skipped.map(\.key.string) == ["c", "d"])
    #expect(tally.skipped.map(\.error.code) == [.damaged, .permissionDenied])
    var seen: [String] = []
    try await Listing(from, of: StoreEntry.self).visit { seen.append($0.key.string) }
    #expect(seen == ["a", "b", "c", "d", "e"])
  }

  @Test("A store without batches receives values one by one; a store without listing throws")
  func lessAble() async throws {
    let adapter = AdapterEngine(MemoryAdapter())
    let tally = try await copy(try await store(["a": "1", "b": "2"]), adapter)
    #expect(tally.copied == 2)
    #expect(try await adapter.entry(KeyName("b"))?.value == Data("2".utf8))
    let error = await #expect(throws: StorageError.self) { try await copy(adapter, try await store([:])) }
    #expect(error?.code == .unsupported)
  }

  @Test("Large values are copied in commits of a few megabytes")
  func largeValues() async throws {
    let from = try await store([:], limit: 8 << 20)
    for number in 1...5 {
      let value = Data(count: number == 3 ? 6 << 20 : 2 << 20)
      try await from.commit(WriteBatch([.put(KeyName("\(number)"), value)]), from: StoreOrigin())
    }
    let to = try await store([:], limit: 8 << 20)
    #expect(try await copy(from, to).copied == 5)
    #expect(to.latestRevision == StoreRevision(3))
  }

  @Test("Values of TO are compared in batches, and a damaged one among them is written again")
  func batches() async throws {
    let (from, to) = (MemoryEngine(name: "from"), MemoryEngine(name: "to"))
    for engine in [from, to] {
      let puts = try (0..<1_000).map { number in
        WriteBatch.Operation.put(
          try KeyName("k\(number)"), Data(number == 7 && engine === to ? "old".utf8 : "new".utf8))
      }
      try await engine.commit(WriteBatch(puts), from: StoreOrigin())
    }
    let counted = CountingEngine(base: to)
    let tally = try await copy(from, counted)
    #expect(tally.copied == 1 && tally.unchanged == 999 && tally.through?.string == "k999")
    #expect(await counted.reads.value < 20)
    let fussy = FussyEngine(to, damaged: "k5")
    #expect(try await copy(from, fussy).unchanged == 999)
  }

  @Test("Values of TO that are large like those of FROM are not read many at once")
  func largeComparisons() async throws {
    let from = MemoryEngine(name: "from")
    for number in 10..<22 {
      try await from.commit(WriteBatch([.put(KeyName("\(number)"), Data(count: 2 << 20))]), from: StoreOrigin())
    }
    let counted = CountingEngine(base: from)
    #expect(try await copy(from, counted).unchanged == 12)
    #expect(await counted.most.value == 8)
  }

  @Test("Of values of a commit whose outcome is unknown, it is unknown whether they were copied")
  func unknownOutcome() async throws {
    let from = try await store(["a": "1", "b": "2"])
    let copier = Copier(from: from, to: UncertainEngine(base: try await store([:])), prefix: nil, isQuiet: true)
    await #expect(throws: StorageError.self) { try await copier.run() }
    let tally = await copier.partial
    #expect(tally.copied == 0 && tally.copiedBytes == 0 && tally.unknown == 2 && tally.through == nil)
    #expect(tally.remainder.hasSuffix("Whether 2 values were copied is unknown."))
  }
}

private actor Count {
  private(set) var value = 0
  func add() { value += 1 }
  func raise(to other: Int) { value = max(value, other) }
}

/// Counts the reads of values.
private final class CountingEngine: EngineDecorator {
  let base: any StorageEngine
  let reads = Count()
  /// The maximum number of values that were read at once.
  let most = Count()

  init(base: any StorageEngine) { self.base = base }

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    await reads.add()
    return try await base.entry(key)
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    await reads.add()
    await most.raise(to: keys.count)
    return try await base.entries(keys)
  }
}

/// An engine whose commits have an unknown outcome, and which accepts durable ones only.
private final class UncertainEngine: EngineDecorator {
  let base: any StorageEngine

  init(base: any StorageEngine) { self.base = base }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    #expect(batch.durability == .full)
    throw StorageError(.outcomeUnknown, "The connection was lost.")
  }
}

/// A memory engine with a damaged value, one that may not be read, and one that it refuses to store.
private final class FussyEngine: StorageEngine {
  let base: MemoryEngine
  private let damaged: String?
  private let locked: String?
  private let refused: String?

  init(_ base: MemoryEngine, damaged: String? = nil, locked: String? = nil, refused: String? = nil) {
    self.base = base
    self.damaged = damaged
    self.locked = locked
    self.refused = refused
  }

  var capabilities: StoreCapabilities { base.capabilities }
  var description: String { "fussy:\(base.description)" }
  var latestRevision: StoreRevision { base.latestRevision }
  var latestPosition: JournalPosition { base.latestPosition }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    if let key = batch.selection.keys.first(where: { $0.string == refused }) {
      throw StorageError(.valueTooLarge, "Too large after all.", key: key)
    }
    return try await base.commit(batch, from: origin)
  }

  /// Throws for a whole page if it contains one bad value.
  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    try await base.withSnapshot { try await body(FussySnapshot(base: $0, damaged: self.damaged, locked: self.locked)) }
  }

  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { base.changes(since: position) }
  func availability() -> AsyncStream<StoreAvailability> { base.availability() }
  func close() async throws { try await base.close() }
}

private struct FussySnapshot: StorageSnapshot {
  let base: any StorageSnapshot
  let damaged: String?
  let locked: String?

  var revision: StoreRevision { base.revision }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try check(try await base.entries(keys)) }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try check(try await base.page(prefix: prefix, after: after, limit: limit)).compactMap { $0 }
  }

  private func check(_ entries: [StoreEntry?]) throws -> [StoreEntry?] {
    for key in entries.compactMap({ $0?.key }) {
      if key.string == damaged { throw StorageError(.damaged, "Damaged.", key: key) }
      if key.string == locked { throw StorageError(.permissionDenied, "Not allowed.", key: key) }
    }
    return entries
  }
}
