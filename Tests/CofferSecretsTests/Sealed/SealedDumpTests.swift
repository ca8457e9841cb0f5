#if os(Linux)
  import CofferCore
  import CofferEncryption
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// A real core dump of a process that has a sealed store open.
  @Suite(.blocking, .serialized, .enabled(if: CoreDump.isWritten, CoreDump.elsewhere))
  struct SealedDumpTests {
    @Test("It contains neither the passphrase nor a secret")
    func dump() async throws {
      let fixture = try SealedFixture()
      let folder = try TemporaryDirectory()
      let words = try randomBytes(24).map { String($0, radix: 16) }.joined()
      let secret = Data(try randomBytes(40).map { String($0, radix: 16) }.joined().utf8)
      let engine = try await fixture.open(words)
      try await engine.commit(WriteBatch([.put(KeyName("token"), secret)]), from: StoreOrigin())
      try await engine.close()
      try Data(words.utf8).write(to: URL(fileURLWithPath: folder.path("words")))
      chmod(folder.path("words"), 0o600)
      let helper = try HelperProcess(["sealed-dump", fixture.path, folder.path("words"), folder.url.path])
      let core = try CoreDump(of: helper, in: folder)
      #expect(!core.contains(secret), "a secret is in the dump")
      #expect(!core.contains(Data(words.utf8)), "the passphrase is in the dump")
    }
  }
#endif
