import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import CofferTesting
  import CofferFiles
  import CofferTestSupport
  import Foundation

  @testable import CofferSecrets

  let service = "com.example.shop"

  func put(_ key: String, _ value: String, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try KeyName(key), Data(value.utf8))]), from: StoreOrigin())
  }

  func text(_ key: String, in engine: SlotEngine) async throws -> String? {
    try await engine.entry(KeyName(key)).map { String(decoding: $0.value, as: UTF8.self) }
  }

  /// Returns the values of a store by key.
  func values(_ engine: SlotEngine) async throws -> [String: String] {
    try await engine.withSnapshot { snapshot in
      let page = try await snapshot.page(prefix: nil, after: nil, limit: 10_000)
      return Dictionary(uniqueKeysWithValues: page.map { ($0.key.string, String(decoding: $0.value, as: UTF8.self)) })
    }
  }

  extension KeyringFixture {
    /// A client that is unaware of Coffer.
    var stranger: SecretServiceClient { SecretServiceClient(address: keyring.address, timeout: .seconds(10)) }

    static func attributes(_ account: String, service name: String = service) -> [KeyringAttribute] {
      [KeyringAttribute("service", name), KeyringAttribute("account", account)]
    }

    func items(of name: String = service) throws -> [KeyringItem] {
      let client = stranger
      return try client.items(client.search([KeyringAttribute("service", name)]))
    }

    func run(_ command: String, _ arguments: String...) throws -> HelperProcess {
      try HelperProcess([command] + arguments, environment: keyring.environment)
    }

    /// Runs secret-tool and returns its output, or `nil` if it fails.
    func secretTool(_ arguments: String..., input: String = "") throws -> String? {
      let process = Process()
      let (output, entrance) = (Pipe(), Pipe())
      process.executableURL = URL(fileURLWithPath: "/usr/bin/secret-tool")
      process.arguments = arguments
      process.standardOutput = output
      process.standardInput = entrance
      process.standardError = FileHandle.nullDevice
      var variables = ProcessInfo.processInfo.environment
      for (name, value) in keyring.environment { variables[name] = value }
      variables["DISPLAY"] = nil
      process.environment = variables
      try process.runUnblocked()
      try entrance.fileHandleForWriting.write(contentsOf: Data(input.utf8))
      try entrance.fileHandleForWriting.close()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return process.terminationStatus == 0 ? text : nil
    }

    /// Replaces a secret within its item, for which there is no signal.
    func setSecret(_ path: KeyringItemPath, _ text: String) throws {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      guard let owner = try connection.owner(of: KeyringService.name) else {
        throw TestFailure("no keyring is running")
      }
      let session = try SecretSession(connection: connection, owner: owner, timeout: .seconds(10))
      let method = BusMethod("org.freedesktop.Secret.Item", "SetSecret", reply: "()")
      _ = try connection.call(method, of: owner, at: path.description, [session.encode(Data(text.utf8))])
    }
  }

  /// The changes that a subscriber receives.
  final class DeliveredCommits: Sendable {
    private let heard = Locked<[StoreCommit]>([])
    private let task: Task<Void, Never>

    init(_ engine: SlotEngine) {
      let stream = engine.changes(since: nil)
      task = Task { [heard] in
        for await change in stream {
          if case .commit(let commit) = change { heard.withLock { $0.append(commit) } }
        }
      }
    }

    deinit { task.cancel() }

    var all: [StoreCommit] { heard.withLock { $0 } }
    var foreign: [[String]] {
      all.filter { $0.transaction == nil && $0.origin == nil }.map { $0.changed.keys.map(\.string).sorted() }
    }

    func forget() { heard.withLock { $0 = [] } }

    /// Waits until foreign changes to exactly these keys have been delivered.
    func waitForForeign(_ keys: String...) async throws {
      try await eventually("hearing \(keys)") { Set(foreign.joined()).isSuperset(of: keys) }
      guard Set(foreign.joined()) == Set(keys) else { throw TestFailure("delivered: \(foreign)") }
    }
  }
#endif
