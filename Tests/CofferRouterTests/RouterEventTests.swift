import CofferRouter
import CofferTesting
import Testing

/// One setting of a router reaches each of its stores.
@Suite struct RouterEventTests {
  private let recorder = EventRecorder()

  // Requirement 5.7
  @Test func everyStoreOfARouterTells() async throws {
    let fixture = try RouterFixture()
    let configuration = configured {
      $0.events = recorder.events
      $0.unregisteredKeys = .allow
    }
    try await fixture.use(configuration) { router in
      for domain in [StorageDomain.userDefaults(), .database(), .memory("notes")] {
        let key = TypedKey<String>("name", in: domain, owner: "Tests", about: "A name.")
        try await router.set("Ada", for: key)
      }
    }
    #expect(recorder.commits.count == 3 && recorder.failures.isEmpty)
    let schemes = recorder.all.compactMap { event -> Substring? in
      guard case .committed = event.kind else { return nil }
      return event.location.prefix { $0 != ":" }
    }
    #expect(schemes == ["prefs", "sqlite", "memory"])
  }

  @Test func aWriteOfASettingIsTold() async throws {
    let fixture = try RouterFixture()
    let configuration = configured {
      $0.events = recorder.events
      $0.unregisteredKeys = .allow
    }
    let size = SettingKey<Int>("size", in: .database(), owner: "Tests", about: "A number.", default: 0)
    try await fixture.use(configuration) { router in
      let settings = try await router.settings(size)
      settings[size] = 5
      try await settings.flush()
      try await recorder.first { if case .committed = $0.kind { true } else { false } }
    }
    #expect(recorder.commits.map(\.durability) == [.relaxed] && recorder.commits.map(\.groupSize) == [1])
  }

  @Test func aRouterInMemoryTells() async throws {
    let router = StorageRouter.inMemory {
      $0.events = recorder.events
      $0.unregisteredKeys = .allow
    }
    let key = TypedKey<String>("name", in: .database(), owner: "Tests", about: "A name.")
    try await router.set("Ada", for: key)
    #expect(recorder.commits.map(\.operations) == [1])
    try await router.close()
  }
}
