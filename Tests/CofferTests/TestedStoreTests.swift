import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The rows of the stores from which other suites select.
@Suite(.blocking, .serialized) struct TestedStoreTests {
  @Test(arguments: TestedStore.allCases) func isAsItsRowSays(_ store: TestedStore) async throws {
    if let obstacle = store.obstacle { try Test.cancel("\(obstacle)") }
    let directory = try TemporaryDirectory()
    let engine = try await store.open(in: directory.url)
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    #expect(try await store.location(in: directory.url).keepsSecrets != store.has(.plain))
    try await engine.close()
    guard store.has(.local) else { return }
    let copy = try TemporaryDirectory()
    let place = copy.url.appendingPathComponent("copy")
    try FileManager.default.copyItem(at: directory.url, to: place)
    let copied = try await store.open(in: place)
    #expect(try await copied.entry("a")?.value == Data("1".utf8))
    try await copied.close()
  }
}
