import CofferCore
import CofferTestSupport
import CofferVault
import Foundation
import Observation
import Testing

@MainActor @Suite(.timeLimit(.minutes(15))) struct StoredTests {
  private let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private struct Settings {
    @Stored<SettingKey<Theme>> var theme: Theme
    @Stored<SettingKey<Int>> var visits: Int

    @MainActor init(_ router: StorageRouter) {
      _theme = Stored(.theme, in: router)
      _visits = Stored(wrappedValue: 7, .visits, in: router)
    }
  }

  /// Declarations as in an application. They must compile, and are never used: the shared router is not touched.
  @MainActor private final class Declared {
    @Stored(.theme) var theme
    @Stored(.visits) var visits = 3
    @Stored(StorageKeys.recent) var recent
  }

  private func isLoaded<K>(_ value: StoredValue<K>) -> Bool { if case .loaded = value.state { true } else { false } }

  @Test("A property is loading, then has the stored value; its initial value applies while nothing is stored")
  func loading() async throws {
    try await fixture.use { try await $0.set(.dark, for: .theme) }
    try await fixture.use { router in
      let settings = Settings(router)
      guard case .loading = settings.$theme.state else { throw TestFailure("it cannot be loaded yet") }
      #expect(settings.theme == .system && settings.visits == 7)
      try await eventually("both are loaded") {
        settings.theme == .dark && isLoaded(settings.$theme) && isLoaded(settings.$visits)
      }
      #expect(settings.visits == 7)
      // The next property starts with the cached value.
      let other = Settings(router)
      #expect(other.theme == .dark && isLoaded(other.$theme))
      #expect(try await !router.exists(.visits))
    }
  }

  @Test("An edit before the value was loaded overrides it")
  func editFirst() async throws {
    try await fixture.use { try await $0.set(.dark, for: .theme) }
    try await fixture.use { router in
      let settings = Settings(router)
      settings.theme = .light
      #expect(settings.theme == .light)
      try await settings.$theme.flush()
      #expect(try await router.get(.theme) == .light)
      try await Task.sleep(for: .milliseconds(20))  // time passes: the stored value does not replace the edit
      #expect(settings.theme == .light)
    }
    let stored = try await fixture.use { try await $0.get(.theme) }
    #expect(stored == .light)
  }

  @Test("All edits are written, in their order")
  func order() async throws {
    try await fixture.use { router in
      let settings = Settings(router)
      #expect(try await settings.$visits.load() == 7)
      let changes = try await router.changes(of: .visits)
      for number in 1...50 { settings.visits = number }
      #expect(settings.visits == 50)
      try await settings.$visits.flush()
      #expect(try await router.get(.visits) == 50)
      var heard = 0
      for await change in changes {
        guard case .changed(_, _, true) = change else { throw TestFailure("\(change)") }
        heard += 1
        if heard == 50 { break }
      }
    }
  }

  @Test("Changes by other writers are delivered and observed")
  func others() async throws {
    try await fixture.use { router in
      let settings = Settings(router)
      try await eventually("it is loaded") { isLoaded(settings.$visits) }
      var seen = settings.$visits.changes.makeAsyncIterator()
      let observed = Locked(false)
      withObservationTracking {
        _ = settings.visits
      } onChange: {
        observed.withLock { $0 = true }
      }
      try await fixture.use { try await $0.set(3, for: .visits) }
      #expect(await seen.next() == 3)
      #expect(settings.visits == 3)
      #expect(observed.withLock { $0 })
    }
  }

  @Test("Properties that are edited at once agree in the end, with each other and with the store")
  func agreement() async throws {
    try await fixture.use { router in
      try await fixture.use { other in
        let values = [StoredValue(.visits, in: router, initially: 0), StoredValue(.visits, in: other, initially: 0)]
        for value in values { try await value.load() }
        for round in 1...20 {
          for number in 1...10 {
            values[number % 2].value = number
            if number.isMultiple(of: round) { await Task.yield() }
          }
          for value in values { try await value.flush() }
          let stored = try await router.get(.visits)
          try await eventually("both show the stored value") { values.allSatisfy { $0.value == stored } }
        }
        let stored = try await router.get(.visits)
        try await Task.sleep(for: .milliseconds(50))  // time passes: no older value is delivered late
        #expect(values.allSatisfy { $0.value == stored && isLoaded($0) })
      }
    }
  }

  @Test("A missing store is reported, and tried again until it exists")
  func away() async throws {
    let url = URL(fileURLWithPath: fixture.path("mounted"), isDirectory: true)
    let key = plain("k", in: .fileSystem(.custom(url)), default: 1)
    try await fixture.use(configured { $0.stores.slots.createsIfMissing = false }) { router in
      let value = StoredValue(key, in: router, initially: 5)
      try await eventually("it is reported") {
        if case .failed(let error) = value.state { error.code == .notFound } else { false }
      }
      value.value = 6
      await expectError(.notFound) { try await value.flush() }
      #expect(value.value == 6)
      try await fixture.use { try await $0.set(2, for: key) }
      try await eventually("the value is loaded") { isLoaded(value) && value.value == 2 }
      #expect(try await router.get(key) == 2)
    }
  }

  @Test("A released property ends its subscription and its streams")
  func released() async throws {
    try await fixture.use { router in
      weak var weakly: StoredValue<SettingKey<Theme>>?
      var changes: AsyncStream<Theme>?
      do {
        let settings = Settings(router)
        try await eventually("it is loaded") { isLoaded(settings.$theme) }
        weakly = settings.$theme
        changes = settings.$theme.changes
      }
      try await eventually("it is released") { weakly == nil }
      if let changes { for await _ in changes {} }
    }
  }

  @Test("A killed process loses no committed edit, without waiting for a sync")
  func killed() async throws {
    let file = fixture.path("killed/store.db")
    await #expect(processExitsWith: .signal(SIGKILL)) { [file = file as String] in
      let (key, router) = (StoredTests.numbers(in: file), StorageRouter())
      let value = await StoredValue(key, in: router, initially: 0)
      for number in 1...20 { await MainActor.run { value.value = number } }
      // Until the last edit is committed: the sync to the device comes a tenth of a second later.
      while try await router.get(key) != 20 { await Task.yield() }
      kill(getpid(), SIGKILL)
    }
    let router = StorageRouter()
    #expect(try await router.get(Self.numbers(in: file)) == 20)
    try await router.close()
  }

  private nonisolated static func numbers(in file: String) -> SettingKey<Int> {
    plain("number", in: .database(URL(fileURLWithPath: file)), default: 0)
  }

  private enum Greeting: VaultStorable {
    static let key = "greeting"
    static let defaultValue = "hello"
    static var storageType: SwiftVaultStorageType { .fileSystem() }
  }

  private enum Mocked: VaultStorable {
    static let key = "greeting"
    static let defaultValue = "hello"
    static var storageType: SwiftVaultStorageType { .mock }
  }

  @Test("VaultStored keeps a property of the type mock in memory")
  func mocked() async throws {
    struct Page { @VaultStored var greeting: String }
    try await fixture.use { router in
      let page = Page(greeting: VaultStored(Mocked.self, in: router))
      try await router.registerCatalog(ShopCatalog())
      #expect(try await page.$greeting.load() == "hello")
      page.greeting = "salut"
      try await page.$greeting.flush()
      #expect(try await Page(greeting: VaultStored(Mocked.self, in: router)).$greeting.load() == "salut")
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.path("data/com.example.shop")))
  }

  @Test("VaultStored stores a property in a file vault")
  func vaultStored() async throws {
    struct Page { @VaultStored var greeting: String }
    try await fixture.use { router in
      let page = Page(greeting: VaultStored(Greeting.self, in: router))
      try await router.registerCatalog(ShopCatalog())
      #expect(try await page.$greeting.load() == "hello")
      page.greeting = "salut"
      try await page.$greeting.flush()
    }
    let file = fixture.path("data/com.example.shop/SwiftVaultData/greeting")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == #""salut""#)
  }
}
