#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferSQLite
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @Suite("Encrypted stores of several processes", .serialized, .blocking) struct EncryptedProcessTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func open() async throws -> EncryptedEngine {
      try await SQLiteEngine.open(at: directory.path("store.db")).encrypted(.secret)
    }

    @Test func commitsArriveUnderTheirNames() async throws {
      let engine = try await open()
      try await engine.put("p/1", "1")
      let follower = try HelperProcess(["encrypted-follow", directory.url.path, "4"])
      #expect(try follower.line() == "ready")
      let origin = StoreOrigin()
      try await engine.put("p/\u{E9}", "2")
      #expect(try follower.line() == "p/\u{E9}")
      // The other process has never used the name of the removed value.
      try await engine.commit(WriteBatch([.delete("p/1"), .put("q", Data())]), from: origin)
      try await engine.commit(WriteBatch([.clear(prefix: "p/")]), from: origin)
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
      #expect(try follower.lines() == ["everything", "p/\u{E9}", "everything"])
      let writer = try HelperProcess(["encrypted-write", directory.url.path, "w", "50"])
      #expect(try writer.line() == "ready")
      let changes = Collector(engine.changes(since: nil))
      writer.tell("go")
      #expect(try writer.line() == "done")
      let heard = try await changes.commits(upTo: engine.latestRevision)
      #expect(heard.map(\.changed.keys) == (0..<50).map { [.known("w/\($0)")] })
      #expect(try await engine.summaries(prefix: "w/").count == 50)
      try await engine.close()
    }

    /// Another process replaces the primary key 30 times while two write.
    @Test func theRingChangesDuringWrites() async throws {
      let engine = try await open()
      let rotation = try HelperProcess(["encrypted-rotate", directory.url.path, "30"])
      let writer = try HelperProcess(["encrypted-write", directory.url.path, "w", "300"])
      for helper in [rotation, writer] { #expect(try helper.line() == "ready") }
      for helper in [rotation, writer] { helper.tell("go") }
      let origin = StoreOrigin()
      for number in 0..<300 {
        let batch = WriteBatch([.put(.known("m/\(number)"), Data("\(number)".utf8))], durability: .relaxed)
        try await engine.commit(batch, from: origin)
      }
      for helper in [rotation, writer] { #expect(try helper.line() == "done") }
      for name in ["m", "w"] {
        for number in 0..<300 { #expect(try await engine.text(.known("\(name)/\(number)")) == "\(number)") }
      }
      #expect(try await engine.summaries().count == 600)
      try await expectNoRetiredKey(engine)
      try await engine.close()
    }

    /// Expects that each value was sealed with the key that was the primary one at its revision.
    private func expectNoRetiredKey(_ engine: EncryptedEngine) async throws {
      let ring = try await KeyRingStore(engine.base).open(settings: .secret) { _ in try .forTests() }.ring
      let order = ring.entries.map(\.id)
      #expect(order.count == 31)
      let entries = try await engine.base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
      var last = 0
      for entry in entries.sorted(by: { $0.revision < $1.revision }) {
        let position = try #require(order.firstIndex(of: EnvelopeHeader(of: entry.value).keyID))
        #expect(position >= last)
        last = position
      }
    }

    // Requirement 1.46
    @Test(arguments: [TestedStore.sqlite, .file], [true, false])
    func noFileContainsANameOrAValue(_ kind: TestedStore, _ isPlain: Bool) async throws {
      let sample = try SecretSample(count: 1_000, seed: 77)
      let expected = isPlain ? 1_000 : 0
      let helper = try HelperProcess(
        ["encrypted-fill", directory.url.path, kind.rawValue, isPlain ? "plain" : "encrypted", "77"])
      #expect(try helper.line() == "filled")
      let whileOpen = try sample.findings(in: directory.url)
      #expect(whileOpen == (expected, expected))
      helper.kill()
      helper.wait()
      let afterwards = try sample.findings(in: directory.url)
      #expect(afterwards == (expected, expected))
      guard !isPlain else { return }
      // A value that does not open is in the quarantine.
      let base = try await kind.open(in: directory.url)
      let engine = try await base.encrypted(.secret)
      #expect(try await engine.summaries().count == 1_000)
      let stored = try #require(
        try await engine.base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) }.first)
      let changed = stored.value.dropLast() + [stored.value[stored.value.count - 1] ^ 1]
      try await engine.base.commit(
        WriteBatch([.put(stored.key, Data(changed), stored.attributes)]), from: StoreOrigin())
      for name in sample.names where (try? await engine.entry(name)) == nil {
        #expect(try await engine.damage(of: name) != nil)
      }
      #expect(try await engine.quarantinedValues().count == 1)
      try await engine.close()
      let closed = try sample.findings(in: directory.url)
      #expect(closed == (0, 0))
    }
  }
#endif
