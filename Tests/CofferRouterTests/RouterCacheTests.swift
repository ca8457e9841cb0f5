import CofferRouter
import Testing

/// The limits of the cached values of a router's stores.
@Suite(.timeLimit(.minutes(5))) struct RouterCacheTests {
  private static func key(_ name: String, in engine: String) -> SettingKey<Int> {
    SettingKey(name, in: .engine(engine), owner: "Tests", about: "A number.", default: 0)
  }

  @Test func theCachePolicyIsThatOfTheStore() async throws {
    let router = StorageRouter(
      configuration: configured {
        $0.engines = ["common": MemoryEngine(), "own": MemoryEngine()]
        $0.unregisteredKeys = .allow
        $0.cachePolicy = CachePolicy(maximumBytes: 0)
        $0.cachePolicies = [.engine("own"): CachePolicy()]
      })
    let (common, own) = (Self.key("a", in: "common"), Self.key("b", in: "own"))
    for key in [common, own] { try await router.set(1, for: key) }
    #expect(router.cached(common) == nil && router.cached(own) == 1)
    for key in [common, own] { #expect(try await router.get(key) == 1) }
    try await router.close()
  }
}
