import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  package import Foundation

  /// A client of the freedesktop Secret Service: the desktop's keyring.
  ///
  /// It uses the default collection by default, prompts the user only if that is allowed, and never waits longer than
  /// its timeout for all replies of an operation. After a restart of the bus or the keyring the next call connects
  /// again. Calls block and may be made from any number of threads at once. A locked collection is an error and is
  /// never reported as absence.
  package final class SecretServiceClient: Sendable {
    private let address: String?
    private let timeout: Duration
    private let allowsPlainSession: Bool
    private let allowsPrompts: Bool
    /// The longest time that a prompt waits for the user, if prompts are allowed.
    private static let patience = Duration.seconds(120)
    // Callers share one attempt to connect and its result, so a bus that hangs costs all of them one timeout.
    private let connections = SharedAttempt<BusConnection>()
    private let sessions = SharedAttempt<SecretSession>()
    /// The time of the last attempt to start the keyring.
    private let lastStart = Locked<ContinuousClock.Instant?>(nil)

    /// The maximum size of a secret in bytes: keyrings rewrite their whole file with each change, and a bus disconnects
    /// clients that send too much.
    package static let largestSecret = 64 * 1_024

    /// Creates a client, which connects on first use.
    /// - Parameters:
    ///   - address: the address of the bus, or `nil` for the session's, which is looked up for each new connection.
    ///   - timeout: the timeout of all calls of an operation together.
    ///   - allowsPlainSession: whether secrets may cross the bus unencrypted if the keyring supports no encryption.
    ///   - allowsPrompts: whether prompts of the keyring may wait for the user.
    package init(
      address: String? = nil, timeout: Duration = .seconds(2), allowsPlainSession: Bool = false,
      allowsPrompts: Bool = false
    ) {
      self.address = address
      self.allowsPrompts = allowsPrompts
      self.allowsPlainSession = allowsPlainSession
      self.timeout = timeout
    }

    // MARK: State

    /// Returns whether the keyring can be used now. Never prompts the user.
    /// - Parameter collection: the collection to be used; the default one by default.
    package func state(of collection: KeyringItemPath? = nil) -> SecretServiceState {
      do {
        try withService { service in
          _ = try service.openCollection(collection)
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

    /// Returns the error for a state in which the keyring cannot be used.
    func error(of state: SecretServiceState, _ underlying: StorageError.Underlying? = nil) -> StorageError {
      state.error(underlying, provider: state.isOfProvider ? provider() : nil)
    }

    /// Returns the name of the program that offers the keyring, if it can be determined.
    private func provider() -> String? {
      operation {
        guard let id = try? connected().process(of: KeyringService.name),
          let name = try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)
        else { return nil }
        return KeyringProvider.name(ofProgram: name)
      }
    }

    /// Runs requests that share one deadline.
    func operation<R>(_ body: () throws -> R) rethrows -> R { try CallBudget.with(timeout, body) }

    /// Runs a request and converts its failures to storage errors.
    private func inWords<R>(_ body: () throws -> R) throws -> R {
      try operation {
        do {
          return try body()
        } catch let failure as BusFailure {
          throw failure.storageError
        } catch let notOpen as NotOpen {
          throw error(of: notOpen.state, notOpen.underlying)
        }
      }
    }

    /// Returns the algorithm that encrypts secrets on the bus; `plain` for none.
    package func sessionAlgorithm() throws -> String {
      try inWords { try withService { try anySession(with: $0).algorithm } }
    }

    // MARK: Reading

    /// Returns the path of the default collection, whether or not it is locked.
    func defaultPath() throws -> KeyringItemPath { try inWords { try withService { try $0.defaultCollection() } } }

    /// Returns the default collection.
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

    /// Returns a collection, or `nil` if there is none at this path.
    func collection(_ path: KeyringItemPath) throws -> KeyringCollection? {
      try inWords { try withService { try $0.collection(path) } }
    }

    /// Returns the items that have all of these attributes, in the default collection by default.
    package func search(
      _ attributes: [KeyringAttribute], in collection: KeyringItemPath? = nil
    ) throws -> [KeyringItemPath] {
      let arguments = try [BusValue.attributes(checked(attributes))]
      return try inWords {
        try withService { service in
          let collection = try service.openCollection(collection)
          let reply = try service.call(.searchItems, at: collection.description, arguments)
          try service.requireOpen(collection)  // still open: only then does an empty reply prove absence
          return reply[0]?.children.compactMap(\.itemPath) ?? []
        }
      }
    }

    /// Returns the items in all collections that have all of these attributes, including locked ones, or `nil` if this
    /// keyring cannot search all of its collections.
    func searchEverywhere(_ attributes: [KeyringAttribute]) throws -> [KeyringItemPath]? {
      let arguments = try [BusValue.attributes(checked(attributes))]
      return try inWords {
        try withService { service -> [KeyringItemPath]? in
          do {
            let reply = try service.call(.searchAllItems, at: KeyringService.path, arguments)
            let found = (reply[0]?.children ?? []) + (reply[1]?.children ?? [])
            return found.compactMap(\.itemPath)
          } catch let failure as BusFailure where failure.isOfNoMethod {
            return nil
          }
        }
      }
    }

    /// Returns those of the items that exist, without their secrets, in the order of the paths.
    package func items(_ paths: [KeyringItemPath]) throws -> [KeyringItem] {
      try inWords { try withService { try items(paths, of: $0) } }
    }

    private func items(_ paths: [KeyringItemPath], of service: KeyringService) throws -> [KeyringItem] {
      let items = try service.items(paths)
      let found = Set(items.map(\.path))
      for collection in paths.filter({ !found.contains($0) }).map(\.parent).uniqued {
        try service.requireProof(ofAbsenceIn: collection)
      }
      return items
    }

    /// Returns the secrets of those of the items that exist.
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
        // Neither deleted nor locked items yield a secret, but only deleted ones may be reported as absent.
        if !rest.isEmpty { rest = try items(rest, of: service).map(\.path) }
      }
      guard rest.isEmpty else { throw NotOpen(state: .locked) }
      return found
    }

    // MARK: Changing

    /// Creates an item.
    /// - Parameters:
    ///   - collection: the collection; the default one by default.
    ///   - label: the name that keyring programs display; it is not secret.
    ///   - replace: whether to replace an existing item with exactly these attributes.
    package func create(
      label: String, _ attributes: [KeyringAttribute], secret: Data, replace: Bool,
      in collection: KeyringItemPath? = nil
    ) throws -> KeyringItemPath {
      guard secret.count <= Self.largestSecret else {
        throw StorageError(
          .valueTooLarge,
          "The secret has \(secret.count) bytes; the keyring accepts at most \(Self.largestSecret).",
          advice: "Store an encryption key in the keyring and the encrypted data in a file.", location: keyringLocation)
      }
      let properties = BusValue.properties([
        ("org.freedesktop.Secret.Item.Label", .string(try checked(label))),
        ("org.freedesktop.Secret.Item.Attributes", .attributes(try checked(attributes))),
      ])
      return try inWords {
        try withService { service in
          let collection = try service.openCollection(collection)
          let encoded = try session(with: service).encode(secret)
          let reply = try service.call(
            .createItem, at: collection.description, [properties, encoded, .bool(replace)])
          let completed = try service.complete(reply[1], in: collection)
          guard let item = reply[0]?.itemPath ?? completed?.itemPath else {
            throw BusFailure(.other, "the keyring made an item without a path")
          }
          return item
        }
      }
    }

    /// Replaces the attributes of an item and keeps its secret.
    /// - Returns: Whether the item exists.
    @discardableResult
    package func setAttributes(_ path: KeyringItemPath, _ attributes: [KeyringAttribute]) throws -> Bool {
      let value = try BusValue.variant(.attributes(checked(attributes)))
      return try change(path, .setProperty, [.string(BusMethod.item), .string("Attributes"), value])
    }

    /// Deletes an item.
    /// - Returns: Whether the item existed.
    @discardableResult
    package func delete(_ path: KeyringItemPath) throws -> Bool { try change(path, .delete, []) }

    private func change(_ path: KeyringItemPath, _ method: BusMethod, _ arguments: [BusValue]) throws -> Bool {
      try inWords {
        try withService { service in
          do {
            let reply = try service.call(method, at: path.description, arguments)
            _ = try service.complete(reply[0], in: path.parent)
            return true
          } catch let failure as BusFailure where failure.isOfNoObject {
            try service.requireProof(ofAbsenceIn: path.parent)
            return false
          }
        }
      }
    }

    // MARK: Connecting

    /// Calls `body` with a running keyring, and once more if the known process or session has ended.
    private func withService<R>(_ body: (KeyringService) throws -> R) throws -> R {
      try operation {
        do {
          return try body(service())
        } catch let failure as BusFailure where failure.isWorthAnotherTry {
          sessions.forget()
          return try body(service())
        }
      }
    }

    /// Returns a running keyring, which is started if the bus can activate it.
    private func service() throws -> KeyringService {
      let connection = try connected()
      do {
        if let owner = try connection.owner(of: KeyringService.name) {
          return KeyringService(connection: connection, owner: owner, patience: allowsPrompts ? Self.patience : nil)
        }
        try start(connection)
        if let owner = try connection.owner(of: KeyringService.name) {
          return KeyringService(connection: connection, owner: owner, patience: allowsPrompts ? Self.patience : nil)
        }
      } catch let failure as BusFailure where !failure.isOfLostConnection {
        throw failure.notOnBus
      }
      throw NotOpen(state: .noAnswer(reason: "it was started but does not offer the Secret Service"))
    }

    private func connected() throws -> BusConnection {
      let location = try keyringBus(at: address)
      do {
        return try connections.result(
          within: CallBudget.rest(of: timeout), isUsable: { !$0.isClosed },
          make: {
            sessions.forget()
            return try BusConnection(address: location, timeout: timeout)
          })
      } catch let failure as BusFailure {
        throw failure.notConnected(to: location)
      }
    }

    /// Starts the keyring if the bus can activate it, twice a minute at most.
    private func start(_ connection: BusConnection) throws {
      guard try connection.activatableNames().contains(KeyringService.name) else {
        throw NotOpen(state: .noService(reason: "no keyring is running, and none can be started on demand"))
      }
      try lastStart.withLock { lastStart in
        // Another thread may have started it while this one waited for the lock.
        guard try connection.owner(of: KeyringService.name) == nil else { return }
        let now = ContinuousClock.now
        if let last = lastStart, now - last < .seconds(30) {
          throw NotOpen(state: .noAnswer(reason: "no keyring is running, and one that was just started has exited"))
        }
        lastStart = now
        do {
          try connection.start(KeyringService.name)
        } catch let failure as BusFailure {
          // A keyring that the bus can activate is installed, whatever the reason for the failure.
          throw NotOpen(state: .noAnswer(reason: "the keyring could not be started"), underlying: failure.underlying)
        }
      }
    }

    /// Returns the session with this keyring; a restarted keyring requires a new one.
    ///
    /// libsecret silently falls back to an unencrypted session if the keyring offers nothing else.
    private func session(with service: KeyringService) throws -> SecretSession {
      let session = try anySession(with: service)
      guard allowsPlainSession || !session.isPlain else { throw NotOpen(state: .plainSession) }
      return session
    }

    private func anySession(with service: KeyringService) throws -> SecretSession {
      let isUsable = { (session: SecretSession) in
        session.connection === service.connection && session.owner == service.owner
      }
      return try sessions.result(within: CallBudget.rest(of: timeout), isUsable: isUsable) {
        try SecretSession(connection: service.connection, owner: service.owner, timeout: timeout)
      }
    }
  }

  /// Refuses zero bytes: D-Bus ends a string at the first one, so strings that differ only after it would be equal.
  private func checked(_ text: String) throws -> String {
    guard !text.utf8.contains(0) else {
      throw StorageError(
        .unsupported, "A keyring item cannot have a zero byte in its label or attributes.",
        advice: "Escape it.", location: keyringLocation)
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
