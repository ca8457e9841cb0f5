import CofferCore

#if SecretService && os(Linux)
  import CofferFileSystem
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// A bus that accepts connections and never replies: it costs one deadline, not one for each caller or call.
  @Suite("A bus that hangs", .blocking, .serialized, .timeLimit(.minutes(15)))
  struct HangingBusTests {
    private static let timeout = Duration.seconds(2)

    private func configuration(_ bus: HangingBus) -> KeychainConfiguration {
      var configuration = KeychainConfiguration()
      configuration.address = bus.address
      configuration.timeout = Self.timeout
      return configuration
    }

    /// Runs `body` on `count` new threads at once and returns when all have ended.
    private func together(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
      let ended = DispatchGroup()
      for number in 0..<count {
        ended.enter()
        Thread {
          body(number)
          ended.leave()
        }.start()
      }
      guard ended.wait(timeout: .now() + .seconds(60)) == .success else { throw TestFailure("a thread did not end") }
    }

    @Test("Callers at once wait for one deadline and not one after the other")
    func sharedAttempt() throws {
      let bus = try HangingBus()
      let client = SecretServiceClient(address: bus.address, timeout: Self.timeout)
      let states = Locked<[SecretServiceState]>([])
      let spent = try duration {
        try together(8) { _ in
          let state = client.state()
          states.withLock { $0.append(state) }
        }
      }
      #expect(
        states.withLock { $0 } == Array(repeating: .noAnswer(reason: "the session bus does not answer"), count: 8))
      #expect(spent < Self.timeout * 4, "\(spent)")
    }

    @Test("A bus that closes every connection does not prove that there is no keyring")
    func hangsUp() throws {
      let bus = try HangingBus(hangsUp: true)
      let client = SecretServiceClient(address: bus.address, timeout: .seconds(10))
      let state = client.state()
      #expect(state.isNoAnswer, "\(state)")
      #expect(code { try client.search([]) } == .unavailable)
      #expect(bus.attempts >= 2)
    }

    @Test("A chain creates no other store while the existence of the keyring is unknown")
    func chain() async throws {
      let bus = try HangingBus()
      let file = URL(fileURLWithPath: bus.path("secrets.sealed"))
      let chain = SecretChain(.keychain(service: service), .sealed(file, passphrase: passphrase("x")))
      try await bus.use {
        try await expectError(.unavailable, "does not answer. It may exist") {
          _ = try await chain.choose(configuration: configuration(bus))
        }
        try await expectError(.unavailable, "remove it from the chain") {
          _ = try await KeychainAdapter.open(chain, configuration: configuration(bus))
        }
      }
      #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("Opening for callers that cannot suspend waits for one reply, whatever other callers open")
    func blocking() async throws {
      let bus = try HangingBus()
      let configuration = configuration(bus)
      let clock = ContinuousClock()
      try await bus.use {
        let start = clock.now
        let adapter = KeychainAdapter(service: service, configuration: configuration)
        let alone = clock.now - start
        // A regression took four timeouts: for staged values, values, the state and the watch.
        #expect(alone < Self.timeout * 3, "\(alone)")
        let (system, adapters) = (SystemDirectories.current, Locked([adapter]))
        let spent = try duration {
          try together(6) { number in
            SystemDirectories.$current.withValue(system) {
              // Two handles each on three stores.
              let adapter = KeychainAdapter(service: "com.example.\(number / 2)", configuration: configuration)
              adapters.withLock { $0.append(adapter) }
            }
          }
        }
        #expect(spent < Self.timeout * 4, "\(spent)")
        for adapter in adapters.withLock({ $0 }) { try await adapter.engine.close() }
      }
    }

    @Test("Reads throw `unavailable` in bounded time, however many there are")
    func reader() async throws {
      let bus = try HangingBus()
      let configuration = configuration(bus)
      try await bus.use {
        let adapter = try await KeychainAdapter.open(service: service, configuration: configuration)
        let clock = ContinuousClock()
        var spent = try await clock.measure {
          try await expectError(.unavailable) { _ = try await adapter.get("token") }
        }
        #expect(spent < Self.timeout * 3, "\(spent)")
        spent = try await clock.measure {
          try await withThrowingTaskGroup { group in
            for number in 0..<8 {
              group.addTask { try await expectError(.unavailable) { _ = try await adapter.get("token \(number)") } }
            }
            try await group.waitForAll()
          }
        }
        #expect(spent < Self.timeout * 4, "\(spent)")
        spent = try await clock.measure { try await expectError(.unavailable) { _ = try await adapter.list() } }
        #expect(spent < Self.timeout * 5, "\(spent)")
        try await adapter.engine.close()
      }
    }
  }
#endif
