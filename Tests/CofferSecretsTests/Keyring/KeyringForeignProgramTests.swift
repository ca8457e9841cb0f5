#if SecretService && os(Linux)
  import CofferCore
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  private let hasSecretTool = FileManager.default.isExecutableFile(atPath: "/usr/bin/secret-tool")

  /// Unaware programs that write to the same keyring.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeyringForeignProgramTests {
    @Test("secret-tool and Coffer can read each other's secrets", .enabled(if: hasSecretTool, "secret-tool is missing"))
    func secretTool() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let heard = DeliveredCommits(engine)
      try await put("ours", "one", into: engine)
      #expect(try fixture.secretTool("lookup", "service", service, "account", "ours") == "one")
      for (value, account) in [("two", "theirs"), ("three", "theirs"), ("four", "ours")] {
        heard.forget()
        for item in try fixture.items() { try await nextSecond(after: item.path, fixture) }
        let label = ["store", "--label", "x", "service", service, "account", account]
        _ = try fixture.secretTool(label[0], label[1], label[2], label[3], label[4], label[5], label[6], input: value)
        try await heard.waitForForeign(account)
        #expect(heard.foreign == [[account]])
        #expect(try await text(account, in: engine) == value)
      }
      // Coffer's item replaces secret-tool's, so there is one item for the key.
      try await put("theirs", "ours now", into: engine)
      #expect(try fixture.items().count { $0.text(of: "account") == "theirs" } == 1)
      #expect(try fixture.secretTool("lookup", "service", service, "account", "theirs") == "ours now")
      heard.forget()
      _ = try fixture.secretTool("clear", "service", service, "account", "ours")
      try await heard.waitForForeign("ours")
      #expect(try await text("ours", in: engine) == nil)
      #expect(try await values(engine) == ["theirs": "ours now"])
      try await engine.close()
    }

    /// Waits for the next second: an item's date has whole seconds, so two changes in one second look like one.
    private func nextSecond(after path: KeyringItemPath, _ fixture: KeyringFixture) async throws {
      guard let item = try fixture.stranger.items([path]).first else { return }
      try await eventually("the next second") { Date() > item.modified.addingTimeInterval(1) }
    }

    // Requirement 0.26
    @Test("Every change to an item is delivered: creation, renaming, removal, replacement and deletion")
    func items() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let heard = DeliveredCommits(engine)
      let stranger = fixture.stranger
      let path = try stranger.create(
        label: "x", KeyringFixture.attributes("a"), secret: Data("1".utf8), replace: false)
      try await heard.waitForForeign("a")
      heard.forget()
      try stranger.setAttributes(path, KeyringFixture.attributes("b"))
      try await heard.waitForForeign("a", "b")
      #expect(try await values(engine) == ["b": "1"])
      heard.forget()
      try stranger.setAttributes(path, KeyringFixture.attributes("b", service: "com.example.other"))
      try await heard.waitForForeign("b")
      #expect(try await values(engine) == [:])
      heard.forget()
      try stranger.setAttributes(path, KeyringFixture.attributes("c"))
      try await heard.waitForForeign("c")
      heard.forget()
      try await nextSecond(after: path, fixture)
      try fixture.setSecret(path, "in place")
      try await heard.waitForForeign("c")
      #expect(heard.foreign == [["c"]])
      #expect(try await text("c", in: engine) == "in place")
      heard.forget()
      try stranger.delete(path)
      try await heard.waitForForeign("c")
      #expect(try await text("c", in: engine) == nil)
      try await engine.close()
    }

    @Test("An item that is renamed during a read is not returned as the value of its old name")
    func renamed() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let heard = DeliveredCommits(engine)
      let path = try fixture.stranger.create(
        label: "x", KeyringFixture.attributes("a"), secret: Data("1".utf8), replace: false)
      try await heard.waitForForeign("a")
      // Readers run all the time, so that some have found the item when it is renamed.
      let readers = (0..<4).map { _ in
        Task { while !Task.isCancelled { _ = try await (text("a", in: engine), text("b", in: engine)) } }
      }
      defer { for reader in readers { reader.cancel() } }
      for round in 0..<(isProving ? 200 : 20) {
        heard.forget()
        try fixture.stranger.setAttributes(path, KeyringFixture.attributes(round % 2 == 0 ? "b" : "a"))
        try await heard.waitForForeign("a", "b")
        #expect(Set(heard.foreign.map(\.count)).isSubset(of: [1, 2]) && heard.foreign.joined().count == 2)
      }
      for reader in readers { reader.cancel() }
      for reader in readers { _ = await reader.result }
      try await engine.close()
    }

    @Test("Own commits are not delivered as foreign, and other services and groups are unaffected")
    func unrelated() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let group = try await fixture.open(group: "shared")
      let other = try await fixture.open("com.example.other")
      let stranger = fixture.stranger
      let unrelated = try stranger.create(
        label: "x", [KeyringAttribute("service", "mail")], secret: Data("kept".utf8), replace: false)
      try await put("key", "group", into: group)
      try await put("key", "other", into: other)
      let logs = [DeliveredCommits(engine), DeliveredCommits(group), DeliveredCommits(other)]
      for round in 0..<8 {
        try await engine.commit(
          WriteBatch([
            .put(KeyName("key"), Data("\(round)".utf8)), .put(KeyName("two"), Data("\(round)".utf8)),
            .delete(KeyName("three")),
            .put(KeyName("three"), Data()),
          ]), from: StoreOrigin())
      }
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      #expect(try await values(engine) == [:])
      #expect(try await values(group) == ["key": "group"])
      #expect(try await values(other) == ["key": "other"])
      #expect(try stranger.secrets([unrelated]).first?.data == Data("kept".utf8))
      // Once this is delivered to all subscribers, so are all earlier commits.
      for (name, log) in zip([service, service, "com.example.other"], logs) {
        let shared = log === logs[1] ? [KeyringAttribute("access-group", "shared")] : []
        _ = try stranger.create(
          label: "x", KeyringFixture.attributes("end", service: name) + shared, secret: Data(), replace: false)
        try await log.waitForForeign("end")
      }
      for engine in [engine, group, other] { try await engine.close() }
    }

    @Test("Keys of any kind")
    func keys() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let keys = ["a\0b", "%coffer:6100", "%coffer:", "🗝️", FileScenario.longKey, " ", "a/b", "e\u{301}", "é"]
      for key in keys { try await put(key, key, into: engine) }
      let listed = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
      #expect(listed.count == keys.count && listed.allSatisfy { Data($0.key.string.utf8) == $0.value })
      try await engine.close()
      let again = try await fixture.open()
      for key in keys { #expect(try await again.entry(KeyName(key))?.value == Data(key.utf8)) }
      try await again.commit(WriteBatch(try keys.map { .delete(try KeyName($0)) }), from: StoreOrigin())
      try await again.close()
      #expect(try fixture.items().isEmpty)
    }

    @Test("Values that are too large are refused before any call", arguments: [(64 << 10) + 1, 65 << 20])
    func tooLarge(_ count: Int) async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      try await put("key", "small", into: engine)
      fixture.keyring.pause()
      let batch = WriteBatch([.put(KeyName("key"), Data(count: count))])
      try await expectError(.valueTooLarge, "65536") { try await engine.commit(batch, from: StoreOrigin()) }
      fixture.keyring.resume()
      try await engine.commit(WriteBatch([.put(KeyName("largest"), Data(count: 64 << 10))]), from: StoreOrigin())
      #expect(try await engine.entry(KeyName("largest"))?.value.count == 64 << 10)
      #expect(try await text("key", in: engine) == "small")
      try await engine.close()
    }
  }
#endif
