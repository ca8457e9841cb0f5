import CofferCore

#if SecretService && os(Linux)
  import CofferFiles
  import Foundation

  /// The slots of a store in the desktop's keyring, with an item per value.
  ///
  /// A value is an item with the attributes `service`, `account` (the key) and `access-group`, which other programs use
  /// as well and can therefore find; `coffer-version` is the id of the version. Staged values are items of the keyring,
  /// too: a secret is never stored anywhere else. `docs/formats/keychain.md` lists the attributes.
  final class KeyringSlots: Slots {
    private enum Attribute {
      static let schema = "xdg:schema"
      static let service = "service"
      static let account = "account"
      static let accessGroup = "access-group"
      static let accessibility = "accessibility"
      static let version = "coffer-version"
      static let slot = "coffer-slot"

      /// The attributes that an item keeps when it is published or retained.
      static let kept = [schema, service, accessGroup, accessibility, version]
    }

    /// The value of the attribute `coffer-slot` of an item that is not the value of a key.
    private enum Waiting: String {
      case staged, retained, quarantined
    }

    // Calls wait for the keyring's daemon, which syncs its file but not the file's directory.
    let traits: SlotTraits = [.listsSlowly, .keepsSecrets]
    let readsBlock = true

    static let schema = "coffer.Secret"

    private let scope: KeyringScope
    let client: SecretServiceClient
    private let address: String?
    private let timeout: Duration
    private let defaultAccessibility: KeychainAccessibility
    private let keyringDirectory: String
    let history: KeyringHistory
    /// The keys of the items seen so far, since the signal of a deletion contains only the item's path.
    private let seen = Locked<[KeyringItemPath: KeyName]>([:])
    /// Refuses a service with secrets of another library, until it is known to be none.
    private let foreign: ForeignSecrets?
    /// The collection in which values were found although none is noted, or none; `nil` before it was looked for.
    let foundElsewhere = Locked<[KeyringItemPath]?>(nil)
    /// Whether the keyring answered the last query of its state.
    private let answers = Locked(true)

    init(
      _ scope: KeyringScope, accessibility: KeychainAccessibility, keyringDirectory: String, control: String,
      address: String?, timeout: Duration, allowsPlainSession: Bool, allowsPrompts: Bool = false,
      foreign: ForeignSecrets? = nil
    ) {
      self.foreign = foreign
      self.scope = scope
      self.address = address
      self.timeout = timeout
      self.keyringDirectory = keyringDirectory
      history = KeyringHistory(of: keyringDirectory, notedIn: control)
      defaultAccessibility = accessibility
      client = SecretServiceClient(
        address: address, timeout: timeout, allowsPlainSession: allowsPlainSession, allowsPrompts: allowsPrompts)
    }

    func availability() -> StoreAvailability {
      client.operation {
        do {
          try requireOpen()
          try refuseNewKeyring()
          return .available
        } catch {
          return .unavailable(reason: (error as? StorageError)?.message ?? "The keyring does not answer.")
        }
      }
    }

    /// Throws unless the collection of the values can be read and written now.
    private func requireOpen() throws {
      let found = Result { try home() }
      let state = client.state(of: try? found.get())
      answers.withLock { $0 = !state.isSilent }
      guard state == .open else { throw client.error(of: state) }
      _ = try found.get()
    }

    // MARK: Items

    var scopeAttributes: [KeyringAttribute] {
      [KeyringAttribute(Attribute.service, scope.service)]
        + (scope.accessGroup.map { [KeyringAttribute(Attribute.accessGroup, $0)] } ?? [])
    }

    private func items(with attributes: [KeyringAttribute]) throws -> [KeyringItem] {
      let wanted = scopeAttributes + attributes
      return try client.operation {
        // A search also returns items with more attributes, such as those of another group, and an item may be given
        // other attributes before it is read.
        let items = try client.items(client.search(wanted, in: home())).filter { item in
          isOfGroup(item) && wanted.allSatisfy(item.attributes.contains)
        }
        if !items.contains(where: isOurs) {
          try refuseNewKeyring()
          try refuseForeign()
        }
        return items
      }
    }

    /// Throws `foreignFormat` if the service has secrets of another library, before the first use of this store.
    func refuseForeign() throws {
      try client.operation {
        try foreign?.refuse {
          let items = try client.items(client.search(scopeAttributes, in: home())).filter(isOfGroup)
          guard !items.contains(where: isOurs) else { return nil }
          return try ForeignSecrets.recognize(items, in: scope) { try client.secrets([$0.path]).first?.data }
        }
      }
    }

    private func isOfGroup(_ item: KeyringItem) -> Bool { item.text(of: Attribute.accessGroup) == scope.accessGroup }

    func isOurs(_ item: KeyringItem) -> Bool { isOfGroup(item) && Self.version(of: item) != nil }

    /// Throws if this is not the keyring that contains the values, where a missing item does not prove absence.
    private func refuseNewKeyring() throws {
      guard let problem = history.problem() else { return }
      let items = try client.items(client.search(scopeAttributes))
      guard !items.contains(where: isOurs) else { return }
      throw problem
    }

    /// Returns the items of a key: one, except during its replacement or after other programs added some.
    private func items(of key: KeyName) throws -> [KeyringItem] {
      let account = KeyringAttribute(Attribute.account, KeyringAccount(key).text)
      let items = try items(with: [account]).filter { Self.slot(of: $0) == nil }
      note(items)
      return items
    }

    /// Returns the item with the current value of a key. An item without a version wins: an unaware program added it
    /// after Coffer's, which Coffer itself would have removed.
    private func item(of key: KeyName) throws -> KeyringItem? { Self.newest(try items(of: key)) }

    private static func newest(_ items: [KeyringItem]) -> KeyringItem? {
      items.max { left, right in
        let (isOurs, isOther) = (left.text(of: Attribute.version) != nil, right.text(of: Attribute.version) != nil)
        if isOurs != isOther { return isOurs }
        return (left.modified, left.path.description) < (right.modified, right.path.description)
      }
    }

    private func item(_ waiting: Waiting, _ id: SlotID) throws -> KeyringItem? {
      try items(with: [
        KeyringAttribute(Attribute.version, id.description), KeyringAttribute(Attribute.slot, waiting.rawValue),
      ]).first
    }

    private func item(in slot: Slot) throws -> KeyringItem? {
      switch slot {
      case .value(let key): try item(of: key)
      case .staged(let id): try item(.staged, id)
      case .retained(let id): try item(.retained, id)
      case .quarantined(let name): try SlotID(name).flatMap { try item(.quarantined, $0) }
      }
    }

    /// The text of `coffer-slot`, which is empty where a keyring removes no attributes from a published item.
    private static func slot(of item: KeyringItem) -> String? {
      item.text(of: Attribute.slot).flatMap { $0.isEmpty ? nil : $0 }
    }

    private func note(_ items: [KeyringItem]) {
      seen.withLock { seen in
        for item in items {
          if Self.slot(of: item) == nil, let account = item.text(of: Attribute.account) {
            seen[item.path] = KeyringAccount.key(of: account)
          }
        }
      }
    }

    private static func version(of item: KeyringItem) -> SlotID? {
      item.text(of: Attribute.version).flatMap { SlotID($0) }
    }

    /// Returns a stamp that changes with every write of the item: its version, its date and a hash of its path.
    private static func stamp(of item: KeyringItem) -> SlotStamp {
      let version = version(of: item) ?? SlotID(owner: 0, number: 0)
      var path: UInt64 = 0xCBF2_9CE4_8422_2325  // FNV-1a, to distinguish items of one key
      for byte in item.path.description.utf8 { path = (path ^ UInt64(byte)) &* 0x100_0000_01B3 }
      let date = UInt64(bitPattern: Int64(item.modified.timeIntervalSince1970))
      return SlotStamp(version.owner, version.number, date ^ path)
    }

    // MARK: Reading

    func read(_ slot: Slot) throws -> SlotContent? { try client.operation { try content(of: slot) } }

    private func content(of slot: Slot) throws -> SlotContent? {
      // Search again if the item is replaced between the two calls.
      for _ in 0..<8 {
        guard let item = try item(in: slot) else { return nil }
        if let secret = try client.secrets([item.path]).first {
          return SlotContent(
            secret.data, stamp: Self.stamp(of: item), version: Self.version(of: item),
            attributes: ValueAttributes(Self.accessibility(of: item)))
        }
      }
      throw StorageError(.busy, "The item was replaced during each of eight attempts to read it.", advice: "Try again.")
    }

    func stamp(_ slot: Slot) throws -> SlotPresence? {
      try client.operation { try item(in: slot).map { SlotPresence(stamp: Self.stamp(of: $0)) } }
    }

    func list() throws -> [ListedSlot] {
      let items = try items(with: [])
      note(items)
      var values: [KeyName: [KeyringItem]] = [:]
      var waiting: Set<Slot> = []
      for item in items {
        switch (Self.slot(of: item), Self.version(of: item)) {
        case (nil, _):
          if let key = item.text(of: Attribute.account).flatMap(KeyringAccount.key) {
            values[key, default: []] += [item]
          }
        case (Waiting.staged.rawValue, let id?): waiting.insert(.staged(id))
        case (Waiting.retained.rawValue, let id?): waiting.insert(.retained(id))
        default: break
        }
      }
      return waiting.map { ListedSlot($0) }
        + values.map { key, items in
          ListedSlot(.value(key), Self.newest(items).map { SlotPresence(stamp: Self.stamp(of: $0)) })
        }
    }

    func quarantined() throws -> [QuarantinedItem] {
      try items(with: [KeyringAttribute(Attribute.slot, Waiting.quarantined.rawValue)]).compactMap { item in
        Self.version(of: item).map { QuarantinedItem(name: $0.description, date: item.modified, size: nil) }
      }
    }

    /// Returns the accessibility class that is recorded in an item, or `nil` if there is none.
    private static func accessibility(of item: KeyringItem) -> KeychainAccessibility? {
      let name = item.text(of: Attribute.accessibility)
      return KeychainAccessibility.allCases.first { $0.name == name }
    }

    // MARK: Writing

    func prepare(_ keys: [KeyName]) throws {
      try client.operation {
        try requireOpen()
        try refuseNewKeyring()
        try refuseForeign()
      }
    }

    func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent {
      switch slot {
      case .value:
        throw StorageError.unsupported("writing a value outside of a batch", advice: "Stage and move it.", location: "")
      case .staged(let id):
        let accessibility = attributes.accessibility ?? defaultAccessibility
        try stage(data, id, of: key, accessibility)
        // No stamp: moving the item changes its date.
        return SlotContent(data, version: id, attributes: ValueAttributes(accessibility))
      case .retained(let id): try create(data, .retained, id)
      case .quarantined(let name): if let id = SlotID(name) { try create(data, .quarantined, id) }
      }
      return SlotContent(data)
    }

    private func stage(_ data: Data, _ id: SlotID, of key: KeyName?, _ accessibility: KeychainAccessibility) throws {
      let account = key.map { ": \($0.string.escapingControlCharacters)" } ?? ""
      do {
        try create(data, .staged, id, label: scope.service + account, accessibility)
      } catch let error as StorageError where error.code == .outcomeUnknown {
        // The item may exist, but has no effect without its commit; the recovery of a later handle removes it.
        throw StorageError(
          .unavailable, "The keyring did not confirm within the timeout that it stored the value.",
          advice: "Nothing was changed. Try again.", underlying: error.underlying)
      }
    }

    private func create(
      _ data: Data, _ waiting: Waiting, _ id: SlotID, label: String? = nil,
      _ accessibility: KeychainAccessibility? = nil
    ) throws {
      let attributes = [
        KeyringAttribute(Attribute.slot, waiting.rawValue), KeyringAttribute(Attribute.version, id.description),
        KeyringAttribute(Attribute.accessibility, (accessibility ?? defaultAccessibility).name),
      ]
      _ = try client.operation {
        try client.create(
          label: label ?? scope.service,
          [KeyringAttribute(Attribute.schema, Self.schema)] + scopeAttributes + attributes, secret: data, replace: true,
          in: home())
      }
    }

    func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
      try client.operation { try moveItem(source, to: target) }
    }

    private func moveItem(_ source: Slot, to target: Slot) throws -> SlotStamp? {
      guard let item = try item(in: source), let id = Self.version(of: item) else {
        throw StorageError(.notFound, "There is nothing to move: the keyring has no such item.")
      }
      // KeePassXC adds attributes of its own, and refuses to have them set.
      var attributes = item.attributes.filter { Attribute.kept.contains($0.name) }
      switch target {
      case .value(let key):
        // Delete the old items first: until the new one has the key, readers find it in its staged slot.
        for old in try items(of: key) { try client.delete(old.path) }
        attributes.append(KeyringAttribute(Attribute.account, KeyringAccount(key).text))
      case .staged: attributes.append(KeyringAttribute(Attribute.slot, Waiting.staged.rawValue))
      case .retained: attributes.append(KeyringAttribute(Attribute.slot, Waiting.retained.rawValue))
      case .quarantined: attributes.append(KeyringAttribute(Attribute.slot, Waiting.quarantined.rawValue))
      }
      func set() throws -> KeyringItem? {
        try client.setAttributes(item.path, attributes) ? client.items([item.path]).first : nil
      }
      var found = try set()
      if case .value = target, let item = found, Self.slot(of: item) != nil {
        // KeePassXC keeps an attribute that is left out.
        attributes.append(KeyringAttribute(Attribute.slot, ""))
        found = try set()
      }
      guard let moved = found else {
        throw StorageError(.notFound, "Another program has removed the item \(id) from the keyring.")
      }
      note([moved])
      history.keep(moved.path.parent)
      return Self.stamp(of: moved)
    }

    func copy(_ key: KeyName, to version: SlotID) throws {
      try client.operation {
        if let content = try content(of: .value(key)) { try create(content.data, .retained, version) }
      }
    }

    func delete(_ slot: Slot) throws {
      try client.operation {
        let found = if case .value(let key) = slot { try items(of: key) } else { try item(in: slot).map { [$0] } ?? [] }
        for item in found { try client.delete(item.path) }
      }
    }

    // MARK: Watching

    func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? {
      // Do not wait again for a keyring that just timed out: once it answers, everything is read again.
      let isAwaited = answers.withLock { $0 }
      let signals = SecretServiceWatch(address: address, timeout: timeout, isAwaited: isAwaited) { [weak self] event in
        switch event {
        case .item(let path): self?.receive(path, heard)
        case .availability:
          heard(.availability)
          heard(.anything)
        }
      }
      // No signal reports a secret that is replaced within its item, but the keyring's file is written.
      let files = KeyringFiles(keyringDirectory) { heard(.anything) }
      return {
        signals.end()
        files.end()
      }
    }

    private func receive(_ path: KeyringItemPath, _ heard: (SlotEvent) -> Void) {
      guard let found = try? client.items([path]) else { return heard(.anything) }
      // The item may have belonged to another key before, or may no longer belong to this store.
      let before = seen.withLock { $0.removeValue(forKey: path) }
      note(found.filter { $0.text(of: Attribute.service) == scope.service && isOfGroup($0) })
      let present = seen.withLock { $0[path] }
      if let before { heard(.changed(before)) }
      if let present, present != before { heard(.changed(present)) }
    }
  }
#endif
