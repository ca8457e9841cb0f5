import CofferFileSystem
import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// Keys whose values are encrypted, in a database of plain values and in encrypted stores.
@Suite(.timeLimit(.minutes(15))) struct EncryptedKeyTests {
  private static let value = "a value that nobody else may read"
  private static let database = StorageDomain.database()

  private let fixture: RouterFixture
  private let key: RootKeySource
  private var settings: StorageConfiguration {
    configured { [key] in $0.encryption.key = key }
  }

  private let secret = plain("secret", String.self, in: database, security: .encrypted(.aes256))
  private let other = plain("other", String.self, in: database, security: .encrypted(.chaCha20Poly1305))
  private let name = plain("name", String.self, in: database)

  init() throws {
    fixture = try RouterFixture()
    key = .provider(FixedKeyMaterial(first: 1), named: "test")
  }

  /// All bytes of all files of the fixture.
  private func bytes() throws -> Data {
    var all = Data()
    let root = URL(fileURLWithPath: fixture.path(""))
    for case let url as URL in try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)) {
      if let data = try? Data(contentsOf: url) { all += data }
    }
    return all
  }

  private func occurs(_ text: String) throws -> Bool { try bytes().range(of: Data(text.utf8)) != nil }

  // Requirements 1.63, 4.20
  @Test("The value of an encrypted key is nowhere in plain, and one of a plain key beside it is")
  func oneKey() async throws {
    for isNew in [true, false] {
      try await fixture.use(settings) { router in
        if isNew {
          try await router.set("plain text of a name", for: name)
          try await router.set(Self.value, for: secret)
          try await router.set(Self.value, for: other)
        }
        #expect(try await router.get(secret) == Self.value)
        #expect(try await router.get(other) == Self.value)
        #expect(try await router.get(name) == "plain text of a name")
        #expect(try [occurs(Self.value), occurs("plain text of a name")] == [false, true])
      }
    }
    #expect(try !occurs(Self.value))
  }

  // Requirement 4.20
  @Test("A batch, a transaction and a state include encrypted and plain keys, in either order of first use")
  func together() async throws {
    for keys in [[secret, name], [name, secret]] {
      let fixture = try RouterFixture()
      try await fixture.use(settings) { router in
        try await router.set("first", for: keys[0])
        let changes = try await router.changes(of: keys[0])
        try await router.batch { batch in
          batch.set("a", for: name)
          batch.set("b", for: secret)
        }
        #expect(try await [router.get(name), router.get(secret)] == ["a", "b"])
        try await router.transaction(in: Self.database) { [secret, name] transaction in
          let both = try await transaction.get(name) + transaction.get(secret)
          try await transaction.set(both, for: secret)
          try await transaction.set("c", for: name)
        }
        let state = try await router.state(of: keys)
        #expect(try [state.get(secret), state.get(name)] == ["ab", "c"])
        // A stream that began before the store was extended delivers both commits.
        var iterator = changes.makeAsyncIterator()
        let (first, second) = (await iterator.next(), await iterator.next())
        #expect(first != nil && second != nil && first?.revision != second?.revision)
      }
    }
  }

  // Requirement 4.20
  @Test("Plain keys are used while the encryption key is not available, and nothing is written in plain instead")
  func unavailable() async throws {
    let locked = configured {
      $0.encryption.key = .provider(LockedKeyMaterial(), named: "test")
    }
    try await fixture.use(locked) { router in
      try await router.set("a", for: name)
      await expectError(.unavailable, "locked") { try await router.set(Self.value, for: secret) }
      await expectError(.unavailable, "locked") { _ = try await router.get(secret) }
      await expectError(.unavailable, "locked") {
        try await router.batch {
          $0.set("b", for: name)
          $0.set(Self.value, for: secret)
        }
      }
      #expect(try await router.get(name) == "a")
      try await router.transaction(in: Self.database) { [name] in try await $0.set("c", for: name) }
      #expect(try await router.get(name) == "c")
    }
    try await fixture.use(settings) { router in
      await expectError(.notFound) { _ = try await router.get(secret) }
      try await router.set(Self.value, for: secret)
    }
    #expect(try !occurs(Self.value))
  }

  @Test("With another key nothing opens and nothing changes")
  func wrongKey() async throws {
    try await fixture.use(settings) { try await $0.set(Self.value, for: secret) }
    let wrong = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 2), named: "test") }
    try await fixture.use(wrong) { router in
      await expectError(.wrongPassphrase) { _ = try await router.get(secret) }
      await expectError(.wrongPassphrase) { try await router.set("x", for: secret) }
    }
    let value = try await fixture.use(settings) { try await $0.get(secret) }
    #expect(value == Self.value)
  }

  @Test("A value in plain under an encrypted key is refused, not returned")
  func plainValue() async throws {
    try await fixture.use(settings) { try await $0.set("x", for: plain("secret", String.self, in: Self.database)) }
    try await fixture.use(settings) { router in
      await expectError(.notEncrypted, "secret") { _ = try await router.get(secret) }
      try await router.set(Self.value, for: secret)
      #expect(try await router.get(secret) == Self.value)
    }
  }

  // Requirements 1.46, 4.18
  @Test("Encrypted files hold neither values nor, if they are hidden, names", arguments: [false, true])
  func files(hidesNames: Bool) async throws {
    let token = TypedKey<String>(
      secret: "token of the shop", in: .encryptedFileSystem(.documents), owner: "Account", about: "A token.")
    let note = plain("note", String.self, in: .encryptedFileSystem(.documents))
    let configuration = configured { [key] in
      $0.encryption.key = key
      $0.encryption.settings.hidesNames = hidesNames
    }
    for isNew in [true, false] {
      try await fixture.use(configuration) { router in
        if isNew {
          try await router.set(Self.value, for: token)
          try await router.batch { $0.set("n", for: note) }
        }
        #expect(try await [router.get(token), router.get(note)] == [Self.value, "n"])
        #expect(try await router.exists(token))
      }
    }
    #expect(try !occurs(Self.value))
    let names = try FileManager.default.subpathsOfDirectory(atPath: fixture.path("documents")).joined(separator: "\n")
    let isNamed = try names.contains("token") || occurs("token of the shop")
    #expect(isNamed != hidesNames, "\(names)")
  }

  // Requirement 1.62
  @Test("A secret in an encrypted database, a family, a key with a default and a lifetime")
  func shapes() async throws {
    let token = TypedKey<String>(secret: "token", in: .database(), owner: "Account", about: "A token.")
    let drafts = KeyFamily<String, String>(
      "drafts/", in: Self.database, owner: "Notes", about: "Drafts.", security: .encrypted(.aes256))
    let theme = SettingKey<String>(
      "theme", in: Self.database, owner: "App", about: "The theme.", default: "light", security: .encrypted(.aes256))
    for isNew in [true, false] {
      try await fixture.use(settings) { router in
        await expectError(.unsupported, "settings whose values are encrypted") { _ = try await router.settings(theme) }
        if isNew {
          try await router.set(Self.value, for: token, expires: .now + 3_600)
          try await router.set(Self.value, for: drafts["a"])
          try await router.set(Self.value, for: theme)
        }
        #expect(try await router.get(token) == Self.value)
        #expect(try await router.ids(of: drafts) == ["a"])
        #expect(try await router.get(drafts["a"]) == Self.value)
        #expect(try await router.get(theme) == Self.value)
      }
    }
    #expect(try !occurs(Self.value))
  }

  // Requirement 4.22
  @Test("Two sources of key material for one store are refused")
  func sources() async throws {
    let hsm = plain(
      "hsm", String.self, in: Self.database,
      security: .encrypted(SecurityPolicy.Encryption(.aes256, keyMaterial: "hsm")))
    try await fixture.use(settings) { router in
      try await router.set("x", for: secret)
      await expectError(.invalidDeclaration, "secret") { try await router.set("x", for: hsm) }
    }
    let fixture = try RouterFixture()
    try await fixture.use(settings) { router in
      await expectError(.unavailable, "hsm") { try await router.set("x", for: hsm) }
    }
    let provided = configured { $0.encryption.providers["hsm"] = FixedKeyMaterial(first: 3) }
    for isNew in [true, false] {
      try await fixture.use(provided) { router in
        if isNew { try await router.set(Self.value, for: hsm) }
        #expect(try await router.get(hsm) == Self.value)
      }
    }
  }
}
