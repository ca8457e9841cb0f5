import CofferRouter
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct LifetimeTests {
  private static let token = TypedKey<String>(
    "token", in: .engine("m"), owner: "Tests", about: "A ticket.", lifetime: .seconds(60))
  private static let plain = SettingKey<String>(
    "plain", in: .engine("m"), owner: "Tests", about: "A text.", default: "-")

  private let clock = SettableClock()

  private func router() -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.engines = ["m": MemoryEngine(clock: clock.storeClock)]
    return StorageRouter(configuration: configuration)
  }

  @Test func everyWayToWriteCanSetAnExpiry() async throws {
    let (router, key, clock) = (router(), Self.plain, clock)
    for write in 0..<3 {
      let end = clock.now + 60
      switch write {
      case 0: try await router.batch { $0.set("a", for: key, expires: end) }
      case 1:
        try await router.transaction(in: key.domain) { transaction in
          #expect(try await !transaction.exists(key))
          try await transaction.set("a", for: key, expires: end)
          #expect(try await transaction.exists(key))
        }
      default: try await router.setIfUnchanged("a", for: key, since: nil, expires: end)
      }
      #expect(try await router.get(key) == "a")
      clock.advance(by: 60)
      #expect(try await router.get(key) == "-", "write \(write)")
    }
  }

  // Requirement 5.1
  @Test func theLifetimeOfAKeyBeginsWithEachWrite() async throws {
    let (router, key) = (router(), Self.token)
    try await router.set("a", for: key)
    clock.advance(by: 59)
    try await router.update(key) { $0 += "b" }
    clock.advance(by: 59)
    #expect(router.cached(key) == "ab")
    clock.advance(by: 1)
    #expect(router.cached(key) == nil)
    #expect(try await !router.exists(key))
    #expect(try await router.bytes(of: key) == nil)
    await expectStorageError(.notFound) { _ = try await router.get(key) }
    try await router.batch { $0.set("c", for: key) }
    clock.advance(by: 60)
    await expectStorageError(.notFound) { _ = try await router.get(key) }
  }

  @Test func anExpiryOfOneWriteTakesPrecedence() async throws {
    let router = router()
    try await router.set("a", for: Self.token, expires: clock.now + 600)
    try await router.set("b", for: Self.plain, expires: clock.now + 10)
    clock.advance(by: 60)
    #expect(try await router.get(Self.token) == "a")
    #expect(try await router.get(Self.plain) == "-", "the default of an expired value")
  }

  @Test(.timeLimit(.minutes(1))) func aStreamDeliversTheDefaultOnceTheValueExpires() async throws {
    let (router, clock) = (router(), clock)
    try await router.set("b", for: Self.plain, expires: clock.now + 10)
    var values = try await router.values(of: Self.plain).makeAsyncIterator()
    #expect(try await values.next()?.get() == "b")
    let expiry = Task {
      await clock.waitForSleepers()
      clock.advance(by: 10)
    }
    #expect(try await values.next()?.get() == "-")
    await expiry.value
  }

  @Test func aFamilyGivesItsMembersItsLifetime() async throws {
    let router = router()
    let family = KeyFamily<Int, String>(
      "tokens", in: .engine("m"), owner: "Tests", about: "Tickets.", lifetime: .seconds(60))
    try await router.set("a", for: family[1])
    clock.advance(by: 30)
    try await router.batch { $0.set("b", for: family[2]) }
    #expect(try await router.ids(of: family) == [1, 2])
    clock.advance(by: 30)
    #expect(try await router.ids(of: family) == [2])
    #expect(try await router.summary(of: family).count == 1)
    #expect(try await !router.exists(family[1]))
    #expect(router.cached(family[1]) == nil)
  }

  @Test func aLifetimeMustBePositive() async throws {
    let key = TypedKey<String>("k", in: .engine("m"), owner: "Tests", about: "A text.", lifetime: .zero)
    await expectStorageError(.invalidDeclaration, contains: "lifetime") { try await router().set("a", for: key) }
  }
}
