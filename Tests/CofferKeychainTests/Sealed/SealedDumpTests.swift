#if os(Linux)
  import CofferCore
  import CofferCrypto
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Whether the kernel writes core dumps into the directory of the process.
  private let dumpsCore: Bool = {
    let pattern = (try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)) ?? "|"
    return !pattern.hasPrefix("|") && !pattern.contains("/")
  }()

  /// A real core dump of a process that has a sealed store open.
  @Suite(.blocking, .serialized, .enabled(if: dumpsCore, "core dumps go elsewhere on this machine"))
  struct SealedDumpTests {
    @Test("It contains neither the passphrase nor a secret")
    func dump() async throws {
      let fixture = try SealedFixture()
      let folder = try TemporaryDirectory()
      let words = try randomBytes(24).map { String($0, radix: 16) }.joined()
      let secret = Data(try randomBytes(40).map { String($0, radix: 16) }.joined().utf8)
      let engine = try await fixture.open(words)
      try await engine.commit(WriteBatch([.put(StoreKey("token"), secret)]), from: StoreOrigin())
      try await engine.close()
      try Data(words.utf8).write(to: URL(fileURLWithPath: folder.path("words")))
      let helper = try HelperProcess(["sealed-dump", fixture.path, folder.path("words"), folder.url.path])
      let marker = try #require(try helper.line())
      let deadline = ContinuousClock.now + .seconds(60)
      while helper.process.isRunning {
        try #require(ContinuousClock.now < deadline)
        usleep(10_000)
      }
      helper.wait()
      #expect(helper.process.terminationReason == .uncaughtSignal)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix("core") }
      let core = try Data(
        contentsOf: URL(fileURLWithPath: folder.path(try #require(names.first))), options: .alwaysMapped)
      // Ordinary memory is included, which proves that the dump is complete.
      #expect(core.range(of: Data(marker.utf8)) != nil)
      #expect(core.range(of: secret) == nil, "a secret is in the dump")
      #expect(core.range(of: Data(words.utf8)) == nil, "the passphrase is in the dump")
    }
  }
#endif
