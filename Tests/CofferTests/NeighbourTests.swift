import Coffer
import Foundation
import Neighbour
import Testing

/// A file can import this library and a module that declares common names, and use both without qualification.
@Suite struct NeighbourTests {
  @Test func bothAreUsedInOneFile() async throws {
    let engine = MemoryEngine()
    let entry = Entry(Key("count"), DecimalCodec().text(of: 3))
    try await engine.commit(
      WriteBatch([.put(KeyName(entry.key.name), Data(entry.text.utf8))]), from: StoreOrigin())
    let stored: StoreEntry? = try await engine.entry(KeyName(entry.key.name))
    #expect(stored?.value == Data("3".utf8))
    let changes: [Change] = [.added(entry), .removed(entry.key)]
    #expect(changes.count == 2)
  }

  @Test func theirNamesAreTheirs() {
    let codec: any Codec = DecimalCodec()
    let (revision, durability, platform): (Revision, Durability, Platform) = (7, .disk, .linux)
    #expect(codec.text(of: revision) == "7" && durability == .disk && platform == .linux)
    let (availability, capabilities) = (Availability.online, Capabilities(rawValue: 1))
    #expect(availability == .online && capabilities.rawValue == 1)
    #expect(Commit() == Commit() && Origin() == Origin() && Selection() == Selection())
    _ = (AppGroup(), WallClock(), EntrySummary())
  }
}
