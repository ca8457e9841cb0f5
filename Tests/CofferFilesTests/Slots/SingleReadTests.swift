import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// A store whose listings are expensive, as those of a keyring, and that counts them.
private final class SlowSlots: Slots {
  let shelf = ShelfSlots()
  let lists = Locked(0)
  let traits: SlotTraits = [.listsSlowly]
  let readsBlock = true

  func read(_ slot: Slot) throws -> SlotContent? { try shelf.read(slot) }
  func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent {
    try shelf.write(data, to: slot, of: key, attributes: attributes)
  }
  func delete(_ slot: Slot) throws { try shelf.delete(slot) }

  func list() throws -> [ListedSlot] {
    lists.withLock { $0 += 1 }
    return try shelf.list()
  }
}

/// Opening a store that lists slowly, and reading one of its values.
@Suite(.serialized) struct SingleReadTests {
  let directory: TemporaryDirectory
  private let slots = SlowSlots()

  init() throws { directory = try TemporaryDirectory() }

  private func open() async throws -> SlotEngine {
    try await SlotEngine.open(slots, journalIn: directory.url.path, name: "slow")
  }

  private func prepare() async throws -> SlotEngine {
    let engine = try await open()
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await engine.close()
    slots.lists.withLock { $0 = 0 }
    slots.shelf.put("b", Data("2".utf8))
    slots.shelf.put("a", Data("edited".utf8))
    return try await open()
  }

  @Test("One value is read without listing the others, and the first listing takes in what others changed")
  func reads() async throws {
    let engine = try await prepare()
    #expect(try await engine.entry("a")?.value == Data("edited".utf8))
    #expect(try await engine.entry("b")?.value == Data("2".utf8))
    #expect(try await engine.entry("none") == nil)
    #expect(slots.lists.withLock { $0 } == 0)
    slots.shelf.put("c", Data("3".utf8))
    let keys = try await engine.withSnapshot { try await $0.summaries(prefix: nil, after: nil, limit: 9).map(\.key) }
    #expect(keys == ["a", "b", "c"])
    try await engine.close()
  }

  @Test("A subscriber receives what others changed before the store was opened")
  func follows() async throws {
    let engine = try await prepare()
    var changes = engine.changes(since: engine.latestPosition).makeAsyncIterator()
    var heard: Set<KeyName> = []
    while !heard.isSuperset(of: ["a", "b"]), case .commit(let commit)? = await changes.next() {
      heard.formUnion(commit.changed.keys)
    }
    #expect(heard == ["a", "b"])
    try await engine.close()
  }
}
