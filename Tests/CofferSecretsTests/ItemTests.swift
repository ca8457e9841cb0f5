#if SecretService && os(Linux)
  import CofferCore
  import CofferSecrets
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @Suite(
    "Items of a real keyring", .blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason),
    .timeLimit(.minutes(15)))
  struct ItemTests {
    private let keyring: PrivateKeyring
    private let client: SecretServiceClient

    init() throws {
      keyring = try PrivateKeyring()
      client = SecretServiceClient(address: keyring.address, timeout: .seconds(10))
    }

    @discardableResult
    private func create(_ name: String, _ secret: Data, replace: Bool = true) throws -> KeyringItemPath {
      try client.create(name, secret, replace: replace)
    }

    static let secrets: [Data] = [
      Data(), Data([0]), Data("plain".utf8), Data([0, 0xFF, 0xC3, 0x28, 0, 0x80]), Data(0...255),
      Data(repeating: 0xA5, count: 64 * 1_024),
    ]

    @Test("Any bytes are returned unchanged, and encrypted on the bus", arguments: secrets)
    func roundTrip(_ secret: Data) throws {
      let path = try create("round trip", secret)
      let found = try client.secrets([path])
      #expect(found.map(\.path) == [path])
      #expect(found.map(\.data) == [secret])
      #expect(try client.sessionAlgorithm() == "dh-ietf1024-sha256-aes128-cbc-pkcs7")
    }

    @Test("A search finds the items that have all attributes, byte by byte")
    func search() throws {
      let one = try create("one", Data("1".utf8))
      let two = try create("two", Data("2".utf8))
      let composed = try create("\u{E9}", Data("3".utf8))
      let decomposed = try create("e\u{301}", Data("4".utf8))
      let all = try client.search([KeyringAttribute("service", "coffer.test")])
      #expect(Set(all) == [one, two, composed, decomposed])
      #expect(try client.search(attributes("two")) == [two])
      #expect(try client.search(attributes("\u{E9}")) == [composed])
      #expect(try client.search([KeyringAttribute("service", "coffer")]) == [])
      #expect(try client.search([KeyringAttribute("service", "coffer.test"), KeyringAttribute("x", "")]) == [])
    }

    @Test("Items have their label, attributes and dates")
    func items() throws {
      let before = Date(timeIntervalSinceNow: -2)
      let path = try create("🔑 \"x\"\n", Data("1".utf8))
      let item = try #require(try client.items([path]).first)
      #expect(item.path == path)
      #expect(item.label == "Test 🔑 \"x\"\n")
      #expect(item.text(of: "service") == "coffer.test")
      #expect(item.text(of: "name") == "🔑 \"x\"\n")
      #expect(item.text(of: "none") == nil)
      #expect(item.created >= before && item.created <= Date(timeIntervalSinceNow: 2))
      #expect(item.modified >= item.created)
    }

    @Test("Replacing keeps one item, and not replacing creates two")
    func replace() throws {
      let first = try create("same", Data("1".utf8))
      let second = try create("same", Data("2".utf8))
      #expect(try client.search(attributes("same")) == [second])
      #expect(try client.secrets([second]).map(\.data) == [Data("2".utf8)])
      let third = try create("same", Data("3".utf8), replace: false)
      #expect(first == second && third != second)
      #expect(Set(try client.search(attributes("same"))) == [second, third])
    }

    @Test("Changing attributes keeps the secret")
    func setAttributes() throws {
      let path = try create("before", Data("kept".utf8))
      #expect(try client.setAttributes(path, attributes("after")))
      #expect(try client.search(attributes("before")) == [])
      #expect(try client.search(attributes("after")) == [path])
      #expect(try client.items([path]).first?.text(of: "name") == "after")
      #expect(try client.secrets([path]).map(\.data) == [Data("kept".utf8)])
    }

    @Test("A deleted item is absent, not an error")
    func vanished() throws {
      let kept = try create("kept", Data("1".utf8))
      let gone = try create("gone", Data("2".utf8))
      #expect(try client.delete(gone))
      #expect(try client.delete(gone) == false)
      #expect(try client.setAttributes(gone, attributes("x")) == false)
      #expect(try client.items([gone, kept]).map(\.path) == [kept])
      #expect(try client.secrets([gone, kept]).map(\.path) == [kept])
      #expect(try client.secrets([gone]) == [])
      #expect(try client.secrets([]) == [])
      #expect(try client.search(attributes("gone")) == [])
    }

    @Test("A zero byte in an attribute is refused, since D-Bus would truncate the string there")
    func zeroBytes() throws {
      #expect(code { try create("a\0b", Data()) } == .unsupported)
      #expect(code { try client.search(attributes("a\0b")) } == .unsupported)
    }

    @Test("More secrets than one call requests")
    func many() throws {
      for index in 0..<260 { try create("\(index)", Data("\(index)".utf8)) }
      let found = try client.search([KeyringAttribute("service", "coffer.test")])
      #expect(found.count == 260)
      #expect(Set(try client.secrets(found).map(\.data)) == Set((0..<260).map { Data("\($0)".utf8) }))
    }

    @Test("Twenty threads at once")
    func threads() throws {
      let failures = Events<String>()
      let client = client
      DispatchQueue.concurrentPerform(iterations: 20) { index in
        do {
          let secret = Data(repeating: UInt8(index), count: 100 + index)
          let path = try client.create("thread \(index)", secret)
          for _ in 0..<5 {
            guard try client.search(attributes("thread \(index)")) == [path],
              try client.secrets([path]).map(\.data) == [secret]
            else { return failures.add("\(index) read something else") }
          }
          guard try client.delete(path) else { return failures.add("\(index) was not there") }
        } catch { failures.add("\(index): \(error)") }
      }
      #expect(failures.all == [])
    }

    @Test("A secret is not printed by accident")
    func text() throws {
      let path = try create("text", Data("geheim".utf8))
      let secret = try #require(try client.secrets([path]).first)
      var dumped = ""
      dump(secret, to: &dumped)
      for text in ["\(secret)", String(reflecting: secret), dumped] {
        #expect(!text.contains("geheim") && !text.contains("103"))
      }
    }

    @Test("Clients do not leak connections")
    func leaks() throws {
      #expect(client.state() == .open)
      let before = try connections(of: keyring, awaiting: 3)  // the keyring's, the client's and the one that counts
      for _ in 0..<60 {
        let other = SecretServiceClient(address: keyring.address, timeout: .seconds(10))
        _ = try other.sessionAlgorithm()
      }
      #expect(before == 3)
      #expect(try connections(of: keyring, awaiting: before) == before)
    }
  }
#endif
