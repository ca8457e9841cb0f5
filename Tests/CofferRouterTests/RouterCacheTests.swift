import CofferRouter
import Testing

/// The limits of the cached values of a router's stores.
@Suite(.timeLimit(.minutes(5))) struct RouterCacheTests {
  private static func key(_ name: String, in engine: String) -> SettingKey<Int> {
    SettingKey(name, in: .engine(engine), owner: "Tests", about: "A number.", default: 0)
  }

  @Test func theCachePolicyIsThatOfTheStore() async throws {
    let pressure = MemoryPressure()
    let router = StorageRouter(
      configuration: configured {
        $0.engines = ["common": MemoryEngine(), "own": MemoryEngine(), "none": MemoryEngine()]
        $0.unregisteredKeys = .allow
        $0.cachePolicy = CachePolicy(memoryPressure: pressure)
        $0.cachePolicies = [.engine("own"): CachePolicy(), .engine("none"): CachePolicy(maximumBytes: 0)]
      })
    let (common, own, none) = (
      Self.key("a", in: "common"), Self.key("b", in: "own"), Self.key("c", in: "none")
    )
    for key in [common, own, none] { try await router.set(1, for: key) }
    #expect(router.cached(common) == 1 && router.cached(own) == 1 && router.cached(none) == nil)
    pressure.report()
    #expect(router.cached(common) == nil && router.cached(own) == 1)
    for key in [common, own, none] { #expect(try await router.get(key) == 1) }
    try await router.close()
  }

  @Test func theCapacityIsThatOfThePolicy() {
    var configuration = StorageConfiguration()
    #expect(configuration.cacheCapacity == 10_000)
    configuration.cachePolicy.timeToLive = 60
    configuration.cacheCapacity = 7
    #expect(configuration.cachePolicy.maximumCount == 7 && configuration.cachePolicy.timeToLive == 60)
  }
}
