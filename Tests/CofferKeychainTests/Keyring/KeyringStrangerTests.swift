#if SecretService && os(Linux)
  import CofferCore
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  private let hasSecretTool = FileManager.default.isExecutableFile(atPath: "/usr/bin/secret-tool")

  /// Others, who do not know us, write to the same keyring.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring), .timeLimit(.minutes(15)))
  struct KeyringStrangerTests {
    @Test("secret-tool and Coffer see each other's secrets", .enabled(if: hasSecretTool, "secret-tool is missing"))
    func secretTool() async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      let heard = HeardCommits(engine)
      try await put("ours", "one", into: engine)
      #expect(try place.secretTool("lookup", "service", service, "account", "ours") == "one")
      for (value, account) in [("two", "theirs"), ("three", "theirs"), ("four", "ours")] {
        heard.forget()
        for item in try place.items() { try await nextSecond(after: item.path, place) }
        let label = ["store", "--label", "x", "service", service, "account", account]
        _ = try place.secretTool(label[0], label[1], label[2], label[3], label[4], label[5], label[6], input: value)
        try await heard.waitForForeign(account)
        #expect(heard.foreign == [[account]])
        #expect(try await text(account, in: engine) == value)
      }
      // What we write replaces theirs: there is one item for the key.
      try await put("theirs", "ours now", into: engine)
      #expect(try place.items().count { $0.text(of: "account") == "theirs" } == 1)
      #expect(try place.secretTool("lookup", "service", service, "account", "theirs") == "ours now")
      heard.forget()
      _ = try place.secretTool("clear", "service", service, "account", "ours")
      try await heard.waitForForeign("ours")
      #expect(try await text("ours", in: engine) == nil)
      #expect(try await values(engine) == ["theirs": "ours now"])
      try await engine.close()
    }

    /// An item's date has whole seconds: one that others change twice in one second looks changed once.
    private func nextSecond(after path: KeyringItemPath, _ place: KeyringPlace) async throws {
      guard let item = try place.stranger.items([path]).first else { return }
      try await eventually("the next second") { Date() > item.modified.addingTimeInterval(1) }
    }

    @Test("Each change to an item is heard: made, renamed, taken away, replaced in place, deleted")
    func items() async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      let heard = HeardCommits(engine)
      let stranger = place.stranger
      let path = try stranger.create(
        label: "x", KeyringPlace.attributes("a"), secret: Data("1".utf8), replace: false)
      try await heard.waitForForeign("a")
      heard.forget()
      try stranger.setAttributes(path, KeyringPlace.attributes("b"))
      try await heard.waitForForeign("a", "b")
      #expect(try await values(engine) == ["b": "1"])
      heard.forget()
      try stranger.setAttributes(path, KeyringPlace.attributes("b", service: "com.example.other"))
      try await heard.waitForForeign("b")
      #expect(try await values(engine) == [:])
      heard.forget()
      try stranger.setAttributes(path, KeyringPlace.attributes("c"))
      try await heard.waitForForeign("c")
      heard.forget()
      try await nextSecond(after: path, place)
      try place.setSecret(path, "in place")
      try await heard.waitForForeign("c")
      #expect(heard.foreign == [["c"]])
      #expect(try await text("c", in: engine) == "in place")
      heard.forget()
      try stranger.delete(path)
      try await heard.waitForForeign("c")
      #expect(try await text("c", in: engine) == nil)
      try await engine.close()
    }

    @Test("An item that is renamed while it is looked at is no value of its old name")
    func renamed() async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      let heard = HeardCommits(engine)
      let path = try place.stranger.create(
        label: "x", KeyringPlace.attributes("a"), secret: Data("1".utf8), replace: false)
      try await heard.waitForForeign("a")
      // Somebody is always looking, so that some of them have found the item when it is renamed.
      let readers = (0..<4).map { _ in
        Task { while !Task.isCancelled { _ = try await (text("a", in: engine), text("b", in: engine)) } }
      }
      defer { for reader in readers { reader.cancel() } }
      for round in 0..<(isProving ? 200 : 20) {
        heard.forget()
        try place.stranger.setAttributes(path, KeyringPlace.attributes(round % 2 == 0 ? "b" : "a"))
        try await heard.waitForForeign("a", "b")
        #expect(Set(heard.foreign.map(\.count)).isSubset(of: [1, 2]) && heard.foreign.joined().count == 2)
      }
      for reader in readers { reader.cancel() }
      for reader in readers { _ = await reader.result }
      try await engine.close()
    }

    @Test("Own commits come back as nobody's, and other services and groups are left alone")
    func unrelated() async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      let group = try await place.open(group: "shared")
      let other = try await place.open("com.example.other")
      let stranger = place.stranger
      let unrelated = try stranger.create(
        label: "x", [KeyringAttribute("service", "mail")], secret: Data("kept".utf8), replace: false)
      try await put("key", "group", into: group)
      try await put("key", "other", into: other)
      let logs = [HeardCommits(engine), HeardCommits(group), HeardCommits(other)]
      for round in 0..<8 {
        try await engine.commit(
          WriteBatch([
            .put(StoreKey("key"), Data("\(round)".utf8)), .put(StoreKey("two"), Data("\(round)".utf8)),
            .delete(StoreKey("three")),
            .put(StoreKey("three"), Data()),
          ]), from: StoreOrigin())
      }
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      #expect(try await values(engine) == [:])
      #expect(try await values(group) == ["key": "group"])
      #expect(try await values(other) == ["key": "other"])
      #expect(try stranger.secrets([unrelated]).first?.data == Data("kept".utf8))
      // Once this is heard everywhere, so is what came before.
      for (name, log) in zip([service, service, "com.example.other"], logs) {
        let shared = log === logs[1] ? [KeyringAttribute("access-group", "shared")] : []
        _ = try stranger.create(
          label: "x", KeyringPlace.attributes("end", service: name) + shared, secret: Data(), replace: false)
        try await log.waitForForeign("end")
      }
      for engine in [engine, group, other] { try await engine.close() }
    }

    @Test("Keys of any kind")
    func keys() async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      let keys = ["a\0b", "%coffer:6100", "%coffer:", "🗝️", FileScenario.longKey, " ", "a/b", "e\u{301}", "é"]
      for key in keys { try await put(key, key, into: engine) }
      let listed = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
      #expect(listed.count == keys.count && listed.allSatisfy { Data($0.key.string.utf8) == $0.value })
      try await engine.close()
      let again = try await place.open()
      for key in keys { #expect(try await again.entry(StoreKey(key))?.value == Data(key.utf8)) }
      try await again.commit(WriteBatch(try keys.map { .delete(try StoreKey($0)) }), from: StoreOrigin())
      try await again.close()
      #expect(try place.items().isEmpty)
    }

    @Test("What is too large is refused before the keyring hears of it", arguments: [(64 << 10) + 1, 65 << 20])
    func tooLarge(_ count: Int) async throws {
      let place = try KeyringPlace()
      let engine = try await place.open()
      try await put("key", "small", into: engine)
      place.keyring.pause()
      let batch = WriteBatch([.put(try StoreKey("key"), Data(count: count))])
      try await expectError(.valueTooLarge, "65536") { try await engine.commit(batch, from: StoreOrigin()) }
      place.keyring.resume()
      try await engine.commit(WriteBatch([.put(StoreKey("largest"), Data(count: 64 << 10))]), from: StoreOrigin())
      #expect(try await engine.entry(StoreKey("largest"))?.value.count == 64 << 10)
      #expect(try await text("key", in: engine) == "small")
      try await engine.close()
    }
  }
#endif
