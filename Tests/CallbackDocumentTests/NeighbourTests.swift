import CofferCallbacks
import Foundation
import Neighbour
import Testing

/// In Swift 5 mode too, common names resolve to the other module.
@Suite struct NeighbourTests {
  @Test func aTypedStoreStandsBesideThem() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let change = Change.added(Entry(Key("theme"), "dark"))
    guard case .added(let entry) = change else { return }
    try await store.save(entry.text, for: KeyName(entry.key.name))
    let loaded = try await store.load(String.self, for: "theme")
    #expect(loaded == "dark")
    let codec: any Codec = DecimalCodec()
    #expect(codec.text(of: 12) == "12")
  }
}
