import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// The sync of families, whose policy is that of all members.
@Suite(.serialized, .timeLimit(.minutes(15))) struct KeyFamilySyncTests {
  let fixture: RouterFixture
  private let phone, watch: InProcessTransport
  private let notes = KeyFamily<String, String>(
    "notes", in: .database(), owner: "Tests", about: "For a test.", sync: .automaticSmall)

  init() throws {
    fixture = try RouterFixture()
    (phone, watch) = InProcessTransport.pair()
  }

  private func use(_ body: (StorageRouter) async throws -> Void) async throws {
    try await fixture.use(configured { $0.sync.transport = phone }) { router in
      try await router.registerCatalog(ShopCatalog(name: "Notes", allKeys: [.family(notes)]))
      try await body(router)
    }
  }

  // Requirement 5.14
  @Test("A snapshot has every member by its bytes, and its encoding preserves both Unicode forms")
  func snapshots() async throws {
    try await use { router in
      try await router.set("1", for: notes["\u{E9}"])
      try await router.set("2", for: notes["e\u{301}"])
      try await router.waitForSync()
      let received = try SyncSnapshot(decoding: try #require(watch.received))
      let values = ["notes/\u{E9}": "\"1\"", "notes/e\u{301}": "\"2\""] as [KeyName: String]
      #expect(received == SyncSnapshot(values: values.mapValues { .init(Data($0.utf8)) }, families: ["notes/"]))
      #expect(received.values.count == 2)
      #expect(received.state(of: "notes/e") == .absent && received.state(of: "note") == .notIncluded)
      try await router.removeAll(of: notes)
      try await router.waitForSync()
      #expect(try SyncSnapshot(decoding: try #require(watch.received)) == SyncSnapshot(families: ["notes/"]))
    }
  }

  // Requirement 5.14
  @Test("Size limits and overrides apply to all members")
  func policies() async throws {
    let large = String(repeating: "x", count: 5_000)
    try await use { router in
      await expectError(.dataTooLargeForSync, "notes/a") { try await router.set(large, for: notes["a"]) }
      try await router.setSyncPolicy(.never, for: notes)
      try await router.set(large, for: notes["a"])
      try await router.waitForSync()
      #expect(try watch.received.map { try SyncSnapshot(decoding: $0).isEmpty } ?? true)
      await expectError(.dataTooLargeForSync, "notes/a") { try await router.setSyncPolicy(nil, for: notes["b"]) }
      await expectError(.dataTooLargeForSync, "notes/a") {
        try await router.setSyncPolicy(.automaticSmall, for: notes)
      }
    }
    try await use { router in
      let policies = [try await router.syncPolicy(for: notes), try await router.syncPolicy(for: notes["b"])]
      #expect(policies == [.never, .never])
    }
  }
}
