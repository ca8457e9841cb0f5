import CofferLocks

#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  package import Foundation

  /// The desktop's keyring: a client of the freedesktop Secret Service.
  ///
  /// It uses the default collection, never asks the user anything and never waits longer than its timeout for one
  /// answer. When the bus or the keyring has gone and come back, the next call finds it. Calls block and may come from
  /// any number of threads at once. What is locked is an error, never "absent".
  package final class SecretServiceClient: Sendable {
    private let address: String?
    private let timeout: Duration
    private let allowsPlainSession: Bool
    // Callers share one attempt to connect and its result: a bus that hangs costs all of them one timeout.
    private let connections = SharedAttempt<BusConnection>()
    private let sessions = SharedAttempt<SecretSession>()
    /// When the keyring was last asked to start.
    private let lastStart = Locked<ContinuousClock.Instant?>(nil)

    /// The largest secret: keyrings rewrite their whole file with each change, and a bus closes the connection of
    /// somebody who sends too much.
    package static let largestSecret = 64 * 1_024

    /// Connects when it is first asked for something.
    /// - Parameters:
    ///   - address: of the bus; `nil` for the session's, looked up for each new connection.
    ///   - timeout: for each call.
    ///   - allowsPlainSession: whether secrets may cross the bus unencrypted where the keyring cannot do better.
    package init(address: String? = nil, timeout: Duration = .seconds(2), allowsPlainSession: Bool = false) {
      self.address = address
      self.allowsPlainSession = allowsPlainSession
      self.timeout = timeout
    }

    // MARK: State

    /// Whether the keyring can be used now. Never asks the user for anything.
    package func state() -> SecretServiceState {
      do {
        try withService { service in
          _ = try service.openCollection()
          if !allowsPlainSession { _ = try session(with: service) }
        }
        return .open
      } catch let notOpen as NotOpen {
        return notOpen.state
      } catch let failure as BusFailure {
        return failure.notOpen.state
      } catch {
        return .noAnswer(reason: "\(error)")
      }
    }

    /// How secrets are encrypted on the bus.
    package func sessionAlgorithm() throws -> String {
      try inWords { try withService { try anySession(with: $0).algorithm } }
    }

    // MARK: Reading

    /// The default collection.
    func defaultCollection() throws -> KeyringCollection {
      try inWords {
        try withService { service in
          guard let collection = try service.collection(service.defaultCollection()) else {
            throw NotOpen(state: .noDefaultCollection)
          }
          return collection
        }
      }
    }

    /// A collection, the default one or not; `nil` when there is none at this path.
    func collection(_ path: KeyringItemPath) throws -> KeyringCollection? {
      try inWords { try withService { try $0.collection(path) } }
    }

    /// The items that have all of these attributes, in the default collection unless another one is named.
    package func search(
      _ attributes: [KeyringAttribute], in collection: KeyringItemPath? = nil
    ) throws -> [KeyringItemPath] {
      let arguments = try [BusValue.attributes(checked(attributes))]
      return try inWords {
        try withService { service in
          let collection = try service.openCollection(collection)
          let reply = try service.call(.searchItems, at: collection.description, arguments)
          try service.requireOpen(collection)  // still: only then an empty answer means that there is none
          return reply[0]?.children.compactMap(\.itemPath) ?? []
        }
      }
    }

    /// Those of the items that exist, without their secrets, in the order of the paths.
    package func items(_ paths: [KeyringItemPath], in collection: KeyringItemPath? = nil) throws -> [KeyringItem] {
      try inWords { try withService { try items(paths, in: collection, of: $0) } }
    }

    private func items(
      _ paths: [KeyringItemPath], in collection: KeyringItemPath? = nil, of service: KeyringService
    ) throws -> [KeyringItem] {
      let items = try paths.compactMap { try service.item($0) }
      if items.count < paths.count { _ = try service.openCollection(collection) }
      return items
    }

    /// The secrets of those of the items that exist.
    package func secrets(_ paths: [KeyringItemPath]) throws -> [KeyringSecret] {
      try inWords { try withService { try secrets(paths, of: $0) } }
    }

    private func secrets(_ paths: [KeyringItemPath], of service: KeyringService) throws -> [KeyringSecret] {
      let session = try session(with: service)
      var found: [KeyringSecret] = []
      var rest = paths
      for _ in 0..<3 where !rest.isEmpty {
        for start in stride(from: 0, to: rest.count, by: 256) {  // far below the limit of a message
          found += try service.secrets(Array(rest[start..<min(start + 256, rest.count)]), session)
        }
        let present = Set(found.map(\.path))
        rest.removeAll(where: present.contains)
        // No secret comes from a deleted item, and none from a locked one: only the first may be called absent.
        if !rest.isEmpty { rest = try items(rest, of: service).map(\.path) }
      }
      guard rest.isEmpty else { throw NotOpen(state: .locked) }
      return found
    }

    // MARK: Changing

    /// Makes an item in the default collection.
    /// - Parameters:
    ///   - label: what people see in their keyring's window; not a secret.
    ///   - replace: whether an item with exactly these attributes is replaced, if there is one.
    package func create(
      label: String, _ attributes: [KeyringAttribute], secret: Data, replace: Bool
    ) throws -> KeyringItemPath {
      guard secret.count <= Self.largestSecret else {
        throw StorageError(
          .valueTooLarge,
          "The secret has \(secret.count) bytes; the keyring takes \(Self.largestSecret) here.",
          advice: "Keep a key in the keyring, and what it encrypts in a file.", backend: keyringBackend)
      }
      let properties = BusValue.properties([
        ("org.freedesktop.Secret.Item.Label", .string(try checked(label))),
        ("org.freedesktop.Secret.Item.Attributes", .attributes(try checked(attributes))),
      ])
      return try inWords {
        try withService { service in
          let collection = try service.openCollection()
          let encoded = try session(with: service).encode(secret)
          let reply = try service.call(
            .createItem, at: collection.description, [properties, encoded, .bool(replace)])
          try service.refusePrompt(reply[1])
          guard let item = reply[0]?.itemPath else {
            throw BusFailure(.other, "the keyring made an item without a path")
          }
          return item
        }
      }
    }

    /// Gives an item other attributes; its secret stays.
    /// - Returns: Whether there is such an item.
    @discardableResult
    package func setAttributes(_ path: KeyringItemPath, _ attributes: [KeyringAttribute]) throws -> Bool {
      let value = try BusValue.variant(.attributes(checked(attributes)))
      return try change(path, .setProperty, [.string(BusMethod.item), .string("Attributes"), value])
    }

    /// Deletes an item.
    /// - Returns: Whether there was such an item.
    @discardableResult
    package func delete(_ path: KeyringItemPath) throws -> Bool { try change(path, .delete, []) }

    private func change(_ path: KeyringItemPath, _ method: BusMethod, _ arguments: [BusValue]) throws -> Bool {
      try inWords {
        try withService { service in
          do {
            let reply = try service.call(method, at: path.description, arguments)
            try service.refusePrompt(reply[0])
            return true
          } catch let failure as BusFailure where failure.isOfNoObject {
            _ = try service.openCollection()  // absent is only who is absent from an open keyring
            return false
          }
        }
      }
    }

    // MARK: Connecting

    /// Asks a keyring that runs, and once more when the one that was known has gone.
    private func withService<R>(_ body: (KeyringService) throws -> R) throws -> R {
      do {
        return try body(service())
      } catch let failure as BusFailure where failure.isWorthAnotherTry {
        sessions.forget()
        return try body(service())
      }
    }

    /// A keyring that runs now, started if the bus knows how.
    private func service() throws -> KeyringService {
      let connection = try connected()
      do {
        if let owner = try connection.owner(of: KeyringService.name) {
          return KeyringService(connection: connection, owner: owner)
        }
        try start(connection)
        if let owner = try connection.owner(of: KeyringService.name) {
          return KeyringService(connection: connection, owner: owner)
        }
      } catch let failure as BusFailure where !failure.isOfLostConnection {
        throw failure.notOnBus
      }
      throw NotOpen(state: .noAnswer(reason: "it was started, but offers nothing"))
    }

    private func connected() throws -> BusConnection {
      let place = try keyringBus(at: address)
      do {
        return try connections.result(
          within: timeout, isUsable: { !$0.isClosed },
          make: {
            sessions.forget()
            return try BusConnection(address: place, timeout: timeout)
          })
      } catch let failure as BusFailure {
        throw failure.notConnected(to: place)
      }
    }

    /// Starts the keyring where a desktop would start it on demand, twice a minute at most.
    private func start(_ connection: BusConnection) throws {
      guard try connection.activatableNames().contains(KeyringService.name) else {
        throw NotOpen(state: .noService(reason: "no keyring runs, and none can be started on demand"))
      }
      try lastStart.withLock { lastStart in
        // Somebody else may have started it while we waited for the lock.
        guard try connection.owner(of: KeyringService.name) == nil else { return }
        let now = ContinuousClock.now
        if let last = lastStart, now - last < .seconds(30) {
          throw NotOpen(state: .noAnswer(reason: "no keyring runs, and one that was just started has ended"))
        }
        lastStart = now
        do {
          try connection.start(KeyringService.name)
        } catch let failure as BusFailure {
          // A keyring that the bus can start is installed, whatever has kept it from starting.
          throw NotOpen(state: .noAnswer(reason: "the keyring could not be started"), underlying: failure.underlying)
        }
      }
    }

    /// The session with this keyring; a keyring that was started again gets a new one.
    ///
    /// Libsecret takes an unencrypted one without a word where the keyring offers nothing else.
    private func session(with service: KeyringService) throws -> SecretSession {
      let session = try anySession(with: service)
      guard allowsPlainSession || !session.isPlain else { throw NotOpen(state: .plainSession) }
      return session
    }

    private func anySession(with service: KeyringService) throws -> SecretSession {
      let isUsable = { (session: SecretSession) in
        session.connection === service.connection && session.owner == service.owner
      }
      return try sessions.result(within: timeout, isUsable: isUsable) {
        try SecretSession(connection: service.connection, owner: service.owner, timeout: timeout)
      }
    }
  }

  /// D-Bus ends a text at its first zero byte: two texts that differ behind it would be one.
  private func checked(_ text: String) throws -> String {
    guard !text.utf8.contains(0) else {
      throw StorageError(
        .unsupported, "A keyring item cannot have a zero byte in its label or attributes.",
        advice: "Escape it.", backend: keyringBackend)
    }
    return text
  }

  private func checked(_ attributes: [KeyringAttribute]) throws -> [KeyringAttribute] {
    for attribute in attributes {
      _ = try checked(attribute.name)
      _ = try checked(attribute.text)
    }
    return attributes
  }
#endif
