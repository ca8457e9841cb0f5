import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import Foundation

  /// The process of a running keyring, and the calls to it.
  struct KeyringService {
    let connection: BusConnection
    /// The unique bus name of the process, so that later calls reach the same process or fail.
    let owner: String
    /// The time that a prompt may wait for the user; `nil` if it may not.
    var patience: Duration?

    static let name = "org.freedesktop.secrets"
    static let path = "/org/freedesktop/secrets"

    func call(_ method: BusMethod, at path: String, _ arguments: [BusValue] = []) throws -> BusValue {
      try connection.call(method, of: owner, at: path, arguments)
    }

    // MARK: The collection

    /// Returns the path of the default collection, whether or not it is locked.
    func defaultCollection() throws -> KeyringItemPath {
      let reply = try call(.readAlias, at: Self.path, [.string("default")])
      guard let collection = reply[0]?.itemPath else { throw NotOpen(state: .noDefaultCollection) }
      return collection
    }

    /// Throws unless the collection is unlocked now.
    func requireOpen(_ collection: KeyringItemPath) throws {
      do {
        let arguments: [BusValue] = [.string(BusMethod.collection), .string("Locked")]
        let reply = try call(.getProperty, at: collection.description, arguments)
        guard reply[0]?.unboxed?.bool == false else { throw NotOpen(state: .locked) }
      } catch let failure as BusFailure where failure.isOfNoObject {
        throw NotOpen(state: .noDefaultCollection, underlying: failure.underlying)
      }
    }

    /// Returns the properties of a collection, or `nil` if there is none at this path.
    func collection(_ path: KeyringItemPath) throws -> KeyringCollection? {
      do {
        let reply = try call(.getProperties, at: path.description, [.string(BusMethod.collection)])
        return KeyringCollection(
          path: path, label: reply[0]?.property("Label")?.text ?? "",
          isLocked: reply[0]?.property("Locked")?.bool != false)
      } catch let failure as BusFailure where failure.isOfNoObject {
        return nil
      }
    }

    /// Returns the path of a collection, the default one by default. Throws unless it is unlocked.
    func openCollection(_ path: KeyringItemPath? = nil) throws -> KeyringItemPath {
      let collection = try path ?? defaultCollection()
      try requireOpen(collection)
      return collection
    }

    /// Throws unless an item that was not found in a collection does not exist: the collection is unlocked, or is gone
    /// itself and the default one is unlocked.
    func requireProof(ofAbsenceIn collection: KeyringItemPath?) throws {
      do {
        _ = try openCollection(collection)
      } catch let notOpen as NotOpen where notOpen.state == .noDefaultCollection && collection != nil {
        _ = try openCollection()
      }
    }

    // MARK: Items

    /// Returns those of the items that exist, without their secrets. That others do not is only proven while the
    /// collection is unlocked.
    func items(_ paths: [KeyringItemPath]) throws -> [KeyringItem] {
      var (items, locked) = try look(at: paths)
      if !locked.isEmpty {
        // A locked item does not show the attributes that were stored.
        guard try unlock(locked) else { throw NotOpen(state: .locked) }
        let unlocked = try look(at: locked)
        guard unlocked.locked.isEmpty else { throw NotOpen(state: .locked) }
        items.merge(unlocked.items) { $1 }
      }
      return paths.compactMap { items[$0] }
    }

    private func look(
      at paths: [KeyringItemPath]
    ) throws -> (items: [KeyringItemPath: KeyringItem], locked: [KeyringItemPath]) {
      let interface = BusValue.string(BusMethod.item)
      let replies = try connection.call(.getProperties, of: owner, at: paths.map(\.description), [interface])
      var items: [KeyringItemPath: KeyringItem] = [:]
      var locked: [KeyringItemPath] = []
      for (path, reply) in zip(paths, replies) {
        do {
          if let item = try item(path, reply.get()) { items[path] = item } else { locked.append(path) }
        } catch let failure as BusFailure where failure.isOfNoObject {}
      }
      return (items, locked)
    }

    /// Returns an item with these properties, or `nil` if it is locked.
    private func item(_ path: KeyringItemPath, _ reply: BusValue) throws -> KeyringItem? {
      guard let properties = reply[0], properties.property("Locked")?.bool == false else { return nil }
      let attributes = properties.property("Attributes")?.children ?? []
      return KeyringItem(
        path: path, label: properties.property("Label")?.text ?? "",
        attributes: attributes.compactMap { pair in
          guard let name = pair[0]?.text, let text = pair[1]?.text else { return nil }
          return KeyringAttribute(name, text)
        }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) },
        created: properties.property("Created")?.date ?? .distantPast,
        modified: properties.property("Modified")?.date ?? .distantPast)
    }

    /// Returns the secrets of those items for which the keyring provides one.
    func secrets(_ paths: [KeyringItemPath], _ session: SecretSession) throws -> [KeyringSecret] {
      let arguments = BusValue.objectPaths(paths.map(\.description))
      let reply = try call(.getSecrets, at: Self.path, [arguments, .objectPath(session.path.description)])
      var secrets: [KeyringSecret] = []
      for entry in reply[0]?.children ?? [] {
        guard let path = entry[0]?.itemPath, let encoded = entry[1] else { continue }
        secrets.append(KeyringSecret(path: path, data: try session.decode(encoded)))
      }
      return secrets
    }

    // MARK: Prompts

    /// Unlocks items if prompts are allowed.
    /// - Returns: Whether they are.
    private func unlock(_ paths: [KeyringItemPath]) throws -> Bool {
      guard patience != nil else { return false }
      let reply = try call(.unlock, at: Self.path, [.objectPaths(paths.map(\.description))])
      if let prompt = reply[1]?.itemPath { _ = try answer(prompt, isOfChange: false) }
      return true
    }

    /// Completes the prompt with which a keyring has replied to a change, if it has, and returns its result.
    ///
    /// KeePassXC replies with a prompt to each new item, and answers it without showing anything unless its settings
    /// ask the user. A prompt that is not answered in time is dismissed, and so is that of a locked keyring. An answer
    /// that was given before a dismissal counts.
    /// - Parameter collection: the collection of the changed item.
    func complete(_ prompt: BusValue?, in collection: KeyringItemPath?) throws -> BusValue? {
      guard let prompt = prompt?.itemPath else { return nil }
      do {
        if patience == nil, let collection { try requireOpen(collection) }
      } catch {
        dismiss(prompt)
        throw error
      }
      return try answer(prompt)
    }

    private func dismiss(_ prompt: KeyringItemPath) {
      CallBudget.extend(by: Self.farewell)
      _ = try? call(.dismiss, at: prompt.description)
    }

    /// The time in which a prompt that is dismissed has to end.
    private static let farewell = Duration.milliseconds(500)

    private func answer(_ prompt: KeyringItemPath, isOfChange: Bool = true) throws -> BusValue? {
      let context = try MainContext()
      let completed = Locked<BusValue?>(nil)
      let wait = try patience ?? CallBudget.rest(of: .seconds(1_000_000))
      try context.asDefault {
        let subscription = connection.subscribe(sender: owner, member: "Completed") { signal in
          guard signal.interface == BusMethod.prompt, signal.path == prompt.description else { return }
          completed.withLock { $0 = signal.arguments }
        }
        defer {
          connection.unsubscribe(subscription)
          context.drain()
        }
        let hasEnded = { completed.withLock { $0 != nil } }
        defer {
          if !hasEnded() {
            dismiss(prompt)
            context.iterate(until: .now + Self.farewell, or: hasEnded)
          }
        }
        // The empty text stands for no window.
        _ = try call(.showPrompt, at: prompt.description, [.string("")])
        let start = ContinuousClock.now
        context.iterate(until: start + wait, or: hasEnded)
        if patience != nil { CallBudget.extend(by: .now - start) }
      }
      guard let answer = completed.withLock({ $0 }) else {
        throw BusFailure(.timedOut, "the prompt has not ended").ofCall(changingSomething: isOfChange)
      }
      guard answer[0]?.bool == false else { throw NotOpen(state: .prompting) }
      return answer[1]?.unboxed
    }
  }

  extension BusValue {
    /// The path of an object, or `nil` for `/`, which stands for none.
    var itemPath: KeyringItemPath? { text.flatMap { KeyringItemPath($0) } }

    /// `a{ss}`.
    static func attributes(_ attributes: [KeyringAttribute]) -> BusValue {
      .array(of: "{ss}", attributes.map { .entry(.string($0.name), .string($0.text)) })
    }

    /// Seconds since 1970.
    fileprivate var date: Date? { uint64.map { Date(timeIntervalSince1970: TimeInterval($0)) } }
  }

  extension BusMethod {
    static let item = "org.freedesktop.Secret.Item"
    static let collection = "org.freedesktop.Secret.Collection"
    static let prompt = "org.freedesktop.Secret.Prompt"
    private static let service = "org.freedesktop.Secret.Service"
    private static let properties = "org.freedesktop.DBus.Properties"

    static let readAlias = BusMethod(service, "ReadAlias", reply: "(o)")
    static let getSecrets = BusMethod(service, "GetSecrets", reply: "(a{o(oayays)})")
    static let searchItems = BusMethod(collection, "SearchItems", reply: "(ao)")
    static let searchAllItems = BusMethod(service, "SearchItems", reply: "(aoao)")
    static let createItem = BusMethod(collection, "CreateItem", reply: "(oo)", changesSomething: true)
    static let delete = BusMethod(item, "Delete", reply: "(o)", changesSomething: true)
    static let unlock = BusMethod(service, "Unlock", reply: "(aoo)")
    static let dismiss = BusMethod(prompt, "Dismiss", reply: "()")
    static let showPrompt = BusMethod(prompt, "Prompt", reply: "()", changesSomething: true)
    static let getProperty = BusMethod(properties, "Get", reply: "(v)")
    static let getProperties = BusMethod(properties, "GetAll", reply: "(a{sv})")
    static let setProperty = BusMethod(properties, "Set", reply: "()", changesSomething: true)
  }
#endif
