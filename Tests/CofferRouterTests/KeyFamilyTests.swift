import CofferRouter
import CofferTestSupport
import Foundation
import Testing

private struct Draft: Codable, Hashable, Sendable { var text: String }

private struct DraftID: RawRepresentable, KeyFamilyID { let rawValue: UUID }

extension KeyFamily where ID == Int, Value == Draft {
  fileprivate static var drafts: Self {
    Self("drafts", in: .database(), owner: "Editor", about: "Unsent messages.")
  }
}

/// Families of keys: any number of values under one declaration.
@Suite(.serialized, .timeLimit(.minutes(15))) struct KeyFamilyTests {
  let fixture: RouterFixture
  private let drafts = KeyFamily<Int, Draft>.drafts
  private let texts = KeyFamily<String, Int>("texts", in: .database(), owner: "Tests", about: "For a test.")

  init() throws { fixture = try RouterFixture() }

  private func listed<ID, Value>(
    _ family: KeyFamily<ID, Value>, _ router: StorageRouter, pageSize: Int = 256
  ) async throws -> [(id: ID, value: Value)] {
    var all: [(id: ID, value: Value)] = []
    for try await member in try await router.all(of: family, pageSize: pageSize) { all.append(member) }
    return all
  }

  // Requirements 1.39, 4.30, 5.14
  @Test("Members of a registered family are keys like any other, listed and removed as one")
  func members() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(ShopCatalog(name: "Editor", allKeys: [.family(.drafts), .key(.name)]))
      #expect(router.allRegisteredEntries.map(\.name) == ["drafts/", "name"])
      #expect(router.cached(drafts[1]) == nil)
      await expectError(.notFound, "drafts/1") { _ = try await router.get(drafts[1]) }
      try await router.set(Draft(text: "a"), for: drafts[1])
      #expect(router.cached(drafts[1]) == Draft(text: "a"))
      try await router.set("Ann", for: .name)
      try await router.batch { batch in
        batch.set(Draft(text: "b"), for: drafts[2])
        batch.set(Draft(text: "c"), for: drafts[10])
      }
      #expect(try await router.update(drafts[2]) { $0.text += "!" } == Draft(text: "b!"))
      // Another object with the same declaration.
      #expect(try await router.get(KeyFamily.drafts[2]) == Draft(text: "b!"))
      #expect(router.cached(KeyFamily.drafts[2]) == Draft(text: "b!"))
      #expect(try await router.ids(of: drafts) == [1, 10, 2])
      let all = try await listed(drafts, router, pageSize: 1)
      #expect(all.map(\.id) == [1, 10, 2] && all.map(\.value.text) == ["a", "c", "b!"])
      let summary = try await router.summary(of: drafts)
      #expect(summary.count == 3 && summary.size == 37 && summary.changed != nil)
      let state = try await router.state(of: [drafts[1], drafts[3]])
      #expect(try state.get(drafts[1]).text == "a")
      await expectError(.notFound, "drafts/3") { _ = try state.get(drafts[3]) }
      try await router.remove(drafts[1])
      #expect(try await !router.exists(drafts[1]))

      try await router.removeAll(of: drafts)
      #expect(try await router.ids(of: drafts).isEmpty && router.cached(drafts[2]) == nil)
      #expect(try await router.summary(of: drafts).count == 0)
      #expect(try await router.get(.name) == "Ann")
    }
  }

  @Test("In a batch, a value that is set before its family is cleared is gone, and one set after it stays")
  func batches() async throws {
    try await fixture.use { router in
      try await router.batch { batch in
        batch.set(1, for: texts["before"])
        batch.removeAll(of: texts)
        batch.set(2, for: texts["after"])
      }
      #expect(router.cached(texts["before"]) == nil)
      #expect(try await !router.exists(texts["before"]))
      #expect(try await router.get(texts["after"]) == 2)
    }
  }

  @Test("A transaction reads and writes members with other keys of their store")
  func transactions() async throws {
    try await fixture.use { [texts] router in
      try await router.set(1, for: texts["a"])
      try await router.transaction(in: .database()) { transaction in
        try await transaction.set(try await transaction.get(texts["a"]) + 1, for: texts["b"])
        try await transaction.remove(texts["a"])
      }
      #expect(try await router.ids(of: texts) == ["b"])
      #expect(try await router.get(texts["b"]) == 2)
    }
  }

  // Requirement 5.14
  @Test("Ids are compared by their bytes, whatever they contain")
  func hostileIDs() async throws {
    let ids = ["../x", "\0", "a\0b", "/", "//", "\u{E9}", "e\u{301}", "\u{301}", "drafts/", " ", "\r\n", "😀", "CON"]
    let sorted = ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { Array($0.utf8) }
    let longest = String(repeating: "x", count: 1_024 - 6)
    for domain in [StorageDomain.database(), .fileSystem(.documents), .userDefaults(), .memory()] {
      let family = KeyFamily<String, Int>("texts", in: domain, owner: "Tests", about: "For a test.")
      try await fixture.use { router in
        for (number, id) in ids.enumerated() { try await router.set(number, for: family[id]) }
        #expect(try await router.ids(of: family).map { Array($0.utf8) } == sorted, "\(domain)")
        for (number, id) in ids.enumerated() { #expect(try await router.get(family[id]) == number) }
        try await router.set(1, for: family[longest])
        #expect(try await router.get(family[longest]) == 1)
        await expectError(.invalidKey, "1019 bytes; the limit is 1018") {
          try await router.set(1, for: family[longest + "x"])
        }
        await expectError(.invalidKey, "2000 bytes") {
          _ = try await router.get(family[String(repeating: "x", count: 2_000)])
        }
        await expectError(.invalidKey, "empty") { _ = try await router.exists(family[""]) }
        // A stream of failures that no event can end would hide the mistake.
        await expectError(.invalidKey, "empty") { _ = try await router.values(of: family[""]) }
        await expectError(.invalidKey, "empty") { _ = try await router.availability(of: family[""]) }
        #expect(router.cached(family[""]) == nil)
        try await router.removeAll(of: family)
        #expect(try await router.ids(of: family).isEmpty)
      }
    }
  }

  @Test("Ids can be integers, UUIDs and types over them")
  func typesOfIDs() async throws {
    try await fixture.use { router in
      let family = KeyFamily<DraftID, Int>("ids", separator: "-", in: .memory(), owner: "Tests", about: "For a test.")
      let ids = (0..<5).map { _ in DraftID(rawValue: UUID()) }
      for id in ids { try await router.set(1, for: family[id]) }
      #expect(Set(try await router.ids(of: family)) == Set(ids))
      #expect(family[ids[0]].name == "ids-" + ids[0].rawValue.uuidString)
      #expect(Int(keyText: Int.min.keyText) == .min && Int(keyText: "x") == nil && UUID(keyText: "1") == nil)
    }
  }

  @Test("A name in the namespace that is no id, or a value that is none of the type, is an error of every listing")
  func strangers() async throws {
    let engine = MemoryEngine(name: "shared")
    let family = KeyFamily<Int, Int>("n", in: .engine("shared"), owner: "Tests", about: "For a test.")
    try await fixture.use(configured { $0.engines["shared"] = engine }) { router in
      try await router.set(7, for: family[7])
      for name in ["n/+7", "n/", "n/x"] {
        let key = try KeyName(name)
        let changes = try await router.changes(of: family)
        try await engine.commit(WriteBatch([.put(key, Data("1".utf8))]), from: StoreOrigin())
        await expectError(.decodingFailed, name) { _ = try await router.ids(of: family) }
        await expectError(.decodingFailed, name) { _ = try await listed(family, router) }
        var iterator = changes.makeAsyncIterator()
        guard case .reload = await iterator.next() else { throw TestFailure("\(name) was delivered as an id") }
        try await engine.commit(WriteBatch([.delete(key)]), from: StoreOrigin())
      }
      try await engine.commit(WriteBatch([.put("n/8", Data("x".utf8))]), from: StoreOrigin())
      #expect(try await router.ids(of: family) == [7, 8])
      await expectError(.decodingFailed, "n/8") { _ = try await listed(family, router) }
      #expect(try await router.get(family[7]) == 7)
    }
  }

  // Requirement 5.14
  @Test("Each commit that changes members is delivered once, with their ids; a clear is a reload")
  func changes() async throws {
    try await fixture.use { router in
      let transaction = TransactionID()
      var changes = try await router.changes(of: texts).makeAsyncIterator()
      try await router.set(1, for: plain("texts", in: .database()))
      try await router.batch(transaction: transaction) { batch in
        batch.set(1, for: texts["a"])
        batch.set(1, for: plain("other", in: .database()))
        batch.remove(texts["b"])
        batch.set(2, for: texts["a"])
      }
      guard case .changed(["a", "b"], let revision, transaction, isOwn: true)? = await changes.next() else {
        throw TestFailure("another change")
      }
      try await router.removeAll(of: texts)
      guard case .reload(let upTo)? = await changes.next() else { throw TestFailure("no reload") }
      #expect(upTo > revision)
      let other = StorageRouter(configuration: configured { _ in })
      try await other.set(3, for: texts["c"])
      guard case .changed(["c"], _, _, isOwn: false)? = await changes.next() else { throw TestFailure("not c") }
      try await other.close()
    }
  }

  // Requirement 5.14
  @Test("Three processes add members while this one lists them: no acknowledged one is missing, none is twice")
  func processes() async throws {
    let path = fixture.path("shared.db")
    let engine = try await SQLiteEngine.open(at: path)
    let family = KeyFamily<String, Int>("drafts", in: .engine("shared"), owner: "Tests", about: "For a test.")
    try await fixture.use(configured { $0.engines["shared"] = engine }) { router in
      let changes = try await router.changes(of: family)
      let helpers = try ["a", "b", "c"].map { try HelperProcess(["family-add", path, $0, "200"]) }
      var acknowledged: Set<String> = []
      for number in 0..<200 {
        for (helper, name) in zip(helpers, ["a", "b", "c"]) {
          #expect(try helper.line() == "ack \(number)")
          acknowledged.insert("\(name)-\(number)")
        }
        guard number % 20 == 0 else { continue }
        let members = try await listed(family, router, pageSize: 7)
        #expect(Set(members.map(\.id)).isSuperset(of: acknowledged))
        #expect(Set(members.map(\.id)).count == members.count)
        for member in members { #expect(member.id.hasSuffix("-\(member.value)")) }
      }
      for helper in helpers { #expect(helper.wait() == 0) }
      #expect(Set(try await router.ids(of: family)) == acknowledged && acknowledged.count == 600)
      var delivered: Set<String> = []
      for await change in changes {
        if case .changed(let ids, _, _, let isOwn) = change {
          #expect(!isOwn)
          delivered.formUnion(ids)
        } else {
          delivered = acknowledged
        }
        if delivered.count == 600 { break }
      }
      try await router.removeAll(of: family)
      #expect(try await router.summary(of: family).count == 0)
    }
    try await engine.close()
  }
}
