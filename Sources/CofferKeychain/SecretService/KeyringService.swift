import CofferLocks

#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// A keyring's process that answered a moment ago, and what it can be asked.
  struct KeyringService {
    let connection: BusConnection
    /// The unique name of its process: what is asked next is asked of the same one, or fails.
    let owner: String

    static let name = "org.freedesktop.secrets"
    static let path = "/org/freedesktop/secrets"

    func call(_ method: BusMethod, at path: String, _ arguments: [BusValue] = []) throws -> BusValue {
      try connection.call(method, of: owner, at: path, arguments)
    }

    // MARK: The collection

    /// The default collection. Whether it is locked is not known.
    func defaultCollection() throws -> KeyringItemPath {
      let reply = try call(.readAlias, at: Self.path, [.string("default")])
      guard let collection = reply[0]?.itemPath else { throw NotOpen(state: .noDefaultCollection) }
      return collection
    }

    /// Throws unless the collection is open now.
    func requireOpen(_ collection: KeyringItemPath) throws {
      do {
        let arguments: [BusValue] = [.string(BusMethod.collection), .string("Locked")]
        let reply = try call(.getProperty, at: collection.description, arguments)
        guard reply[0]?.unboxed?.bool == false else { throw NotOpen(state: .locked) }
      } catch let failure as BusFailure where failure.isOfNoObject {
        throw NotOpen(state: .noDefaultCollection, underlying: failure.underlying)
      }
    }

    /// What a collection says of itself; `nil` when there is none at this path.
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

    /// A collection, the default one unless another one is named, open now.
    func openCollection(_ path: KeyringItemPath? = nil) throws -> KeyringItemPath {
      let collection = try path ?? defaultCollection()
      try requireOpen(collection)
      return collection
    }

    // MARK: Items

    /// An item without its secret; `nil` when there is none at this path, which is only proven while the collection is
    /// open.
    func item(_ path: KeyringItemPath) throws -> KeyringItem? {
      let reply: BusValue
      do {
        reply = try call(.getProperties, at: path.description, [.string(BusMethod.item)])
      } catch let failure as BusFailure where failure.isOfNoObject {
        return nil
      }
      guard let properties = reply[0], properties.property("Locked")?.bool == false else {
        throw NotOpen(state: .locked)  // the attributes of a locked item are not what was stored
      }
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

    /// The secrets at those of the paths where the keyring gave one.
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

    /// A keyring that wants to ask the user something is locked to us: the question is taken back, never shown.
    func refusePrompt(_ prompt: BusValue?) throws {
      guard let prompt = prompt?.itemPath else { return }
      _ = try? call(.dismiss, at: prompt.description)
      throw NotOpen(state: .locked)
    }
  }

  extension BusValue {
    /// A path that names something: not `/`.
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
    private static let service = "org.freedesktop.Secret.Service"
    private static let properties = "org.freedesktop.DBus.Properties"

    static let readAlias = BusMethod(service, "ReadAlias", reply: "(o)")
    static let getSecrets = BusMethod(service, "GetSecrets", reply: "(a{o(oayays)})")
    static let searchItems = BusMethod(collection, "SearchItems", reply: "(ao)")
    static let createItem = BusMethod(collection, "CreateItem", reply: "(oo)", changesSomething: true)
    static let delete = BusMethod(item, "Delete", reply: "(o)", changesSomething: true)
    static let dismiss = BusMethod("org.freedesktop.Secret.Prompt", "Dismiss", reply: "()")
    static let getProperty = BusMethod(properties, "Get", reply: "(v)")
    static let getProperties = BusMethod(properties, "GetAll", reply: "(a{sv})")
    static let setProperty = BusMethod(properties, "Set", reply: "()", changesSomething: true)
  }
#endif
