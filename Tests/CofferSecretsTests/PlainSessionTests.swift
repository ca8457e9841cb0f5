import Testing

#if SecretService && os(Linux)
  import CofferCore
  import CofferTestSupport
  import CofferTestTraits
  import Foundation

  @testable import CofferSecrets

  /// A keyring that accepts only unencrypted secrets.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason)) struct PlainSessionTests {
    private let attributes = [KeyringAttribute("service", "coffer.test")]

    @Test("It is refused, and no secret is sent to it")
    func refused() throws {
      let bus = try PrivateKeyring(password: nil)
      let keyring = try PlainKeyring(bus.address)
      defer { keyring.stop() }
      let client = SecretServiceClient(address: bus.address, timeout: .seconds(10))
      #expect(client.state() == .plainSession)
      #expect(client.state().error().description.contains("allowsPlainSession"))
      #expect(
        code { try client.create(label: "x", attributes, secret: Data("in the clear".utf8), replace: true) }
          == .unavailable)
      #expect(keyring.items == [])
      // An encrypted session was requested first.
      #expect(keyring.algorithms.first?.hasPrefix("dh-") == true)
      #expect(try client.sessionAlgorithm() == "plain")
    }

    @Test("It is used if that is allowed")
    func allowed() throws {
      let bus = try PrivateKeyring(password: nil)
      let keyring = try PlainKeyring(bus.address)
      defer { keyring.stop() }
      let client = SecretServiceClient(address: bus.address, timeout: .seconds(10), allowsPlainSession: true)
      #expect(client.state() == .open)
      _ = try client.create(label: "x", attributes, secret: Data("in the clear".utf8), replace: true)
      #expect(keyring.items == [Data("in the clear".utf8)])
    }

    @Test("A chain skips it and returns the reason")
    func passedOver() async throws {
      let fixture = try KeyringFixture(password: nil)
      let keyring = try PlainKeyring(fixture.keyring.address)
      defer { keyring.stop() }
      let file = fixture.keyring.root.appendingPathComponent("secrets.sealed")
      let chain = SecretChain(.keychain(service: service), .sealed(file, passphrase: passphrase("x")))
      for isAllowed in [false, true] {
        let configuration = fixture.configuration { $0.allowsPlainSession = isAllowed }
        let choice = try await fixture.use { try await chain.choose(configuration: configuration) }
        #expect(choice.index == (isAllowed ? 0 : 1), "\(choice)")
        #expect(choice.reason.contains("unencrypted") == !isAllowed, "\(choice)")
      }
    }
  }
#endif
