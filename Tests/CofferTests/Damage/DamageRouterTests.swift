import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// The policies of declared keys and of the domains of a router.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct DamageRouterTests {
  private let stores = DamagedStores()
  private func router(
    _ damaged: DamagedStore, _ policy: DamagePolicy<Data> = .fail, _ handled: Handled = Handled()
  ) async throws -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.engines = ["e": try await damaged.open()]
    configuration.damagePolicies[.engine("e")] = policy
    configuration.onDamageHandled = handled.add
    return StorageRouter(configuration: configuration)
  }

  /// A key whose bytes are its text.
  private func key(_ name: String = "k", damage: DamagePolicy<String>? = nil) -> TypedKey<String> {
    TypedKey(name, in: .engine("e"), owner: "Tests", about: "A text.", as: .text, damage: damage)
  }

  // Requirement 5.8
  @Test func theKeyComesBeforeItsStore() async throws {
    let store = DamagePolicy.replace(with: Data("of the store".utf8))
    for (own, value) in [(DamagePolicy.replace(with: "of the key"), "of the key"), (nil, "of the store")] {
      let handled = Handled()
      let router = try await router(stores.make(.sqlite), store, handled)
      #expect(try await router.get(key(damage: own)) == value)
      #expect(handled.outcomes == ["replaced"])
    }
    let router = try await router(stores.make(.sqlite), store)
    await expectStorageError(.damaged) { _ = try await router.get(key(damage: .fail)) }
  }

  @Test func everyReadFollowsIt() async throws {
    let key = key(damage: .replace(with: "default"))
    let reads: [(StorageRouter) async throws -> String?] = [
      { try await $0.state(of: [self.key("other"), key]).get(key) },
      { try await $0.update(key) { _ in } },
      { try await $0.versioned(key).value },
      { router in
        for await value in try await router.values(of: key) { return try value.get() }
        return nil
      },
    ]
    for (number, read) in reads.enumerated() {
      let router = try await router(stores.make(.sqlite))
      #expect(try await read(router) == "default", "read \(number)")
    }
  }

  @Test func aTransactionFollowsIt() async throws {
    let (key, handled) = (key(damage: .replace(with: "of the key")), Handled())
    let router = try await router(stores.make(.sqlite), .replace(with: Data("of the store".utf8)), handled)
    let value = try await router.transaction(in: .engine("e")) { transaction in
      let value = try await transaction.get(key)
      try await transaction.set(value + " and more", for: key)
      return value
    }
    #expect(value == "of the key" && handled.outcomes == ["replaced"])
    #expect(try await router.get(key) == "of the key and more")
    let failing = try await self.router(stores.make(.sqlite), .replace(with: Data("of the store".utf8)), handled)
    await expectStorageError(.damaged) {
      _ = try await failing.transaction(in: .engine("e")) { try await $0.get(self.key(damage: .fail)) }
    }
    #expect(handled.outcomes == ["replaced"])
  }

  @Test func aListingOfAFamilyFollowsIt() async throws {
    let family = KeyFamily<String, String>(
      "f", in: .engine("e"), owner: "Tests", about: "Texts.", as: .text,
      damage: .replace { "lost \($0.key?.string ?? "")" })
    let damaged = try await stores.make(.sqlite, key: "f/b") { engine, _ in
      for id in ["a", "c"] { try await TypedStore(engine: engine).save(id, for: "f/\(id)") }
    }
    let router = try await router(damaged)
    var found: [String] = []
    for try await (id, value) in try await router.all(of: family) { found.append("\(id)=\(value)") }
    #expect(found == ["a=a", "b=lost f/b", "c=c"])
  }

  /// Settings cannot wait: a read throws, and a later one returns the replacement.
  @Test func settingsAreReplacedInTheBackground() async throws {
    let damaged = try await stores.make(.file)
    let router = try await router(damaged, .replace(with: Data(#""replaced""#.utf8)))
    let setting = SettingKey("k", in: .engine("e"), owner: "Tests", about: "A text.", default: "default")
    let settings = try await router.settings(setting)
    #expect(try settings.get(setting) == "replaced")
    let engine = try #require(router.configuration.engines["e"])
    try await TypedStore(engine: engine).save(Data(#""\#(DamagedStore.text)""#.utf8), for: "k")
    try flipBit(of: DamagedStore.text, in: damaged.path("files/k"))
    await expectStorageError(.damaged) { _ = try settings.get(setting) }
    try await eventually("the value is replaced") { (try? settings.get(setting)) == "replaced" }
    #expect(settings[setting] == "replaced")
  }
}
