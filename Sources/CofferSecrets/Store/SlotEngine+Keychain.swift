public import CofferCore
public import CofferEncryption
import CofferFileSystem
public import CofferFiles
import CofferSQLite
import Foundation

/// The options for opening a keychain.
public struct KeychainConfiguration: Sendable {
  /// The options of the underlying store. Values are limited to 64 KiB, whatever limit it sets.
  public var store = SlotEngine.Configuration()

  /// The accessibility class of values that are stored without one; `whenUnlocked` by default.
  public var accessibility = KeychainAccessibility.whenUnlocked

  /// The timeout for all replies of the keyring to one operation, such as a read, a listing or a change of an item; 2
  /// seconds by default. Input by the user is awaited only with ``allowsPrompts``, and not counted.
  public var timeout = Duration.seconds(2)

  /// Whether secrets may cross the session bus unencrypted if the keyring supports no encryption; `false` by default.
  /// Such a keyring is `unavailable` then, since every program that can monitor the bus could read the secrets.
  public var allowsPlainSession = false

  /// Whether the keyring may ask the user before it shows or changes an item, as KeePassXC can be set to do; `false` by
  /// default. Each prompt then waits for up to two minutes. No prompt is shown to unlock a locked keyring.
  public var allowsPrompts = false

  /// Asks the user before a secret with an access control is read: that of ``store``.
  public var authentication: AuthenticationContext? {
    get { store.authentication }
    set { store.authentication = newValue }
  }

  /// The maximum cost of trying the passphrase of a sealed file in a chain.
  public var passphraseLimits = PassphraseLimits()

  /// The address of the session bus, or `nil` for the one in the environment.
  package var address: String?

  /// Creates a configuration with the default options.
  public init() {}
}

extension SlotEngine {
  /// Opens the secrets of a service in the desktop's keyring: the freedesktop Secret Service, which gnome-keyring,
  /// KeePassXC and KWallet implement.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.keychain(service: "com.example.shop")
  /// try await TypedStore(engine: engine).save(token, for: "api-token")
  /// // $ secret-tool lookup service com.example.shop account api-token
  /// ```
  ///
  /// Opening succeeds in any state of the keyring. While there is no bus, no keyring or a locked one, every operation
  /// throws `unavailable` and `availability()` returns the reason. Once the keyring is unlocked, operations succeed
  /// without opening the store again. The user is prompted only with ``KeychainConfiguration/allowsPrompts``, and all
  /// replies to an operation are awaited no longer than the timeout.
  ///
  /// Changes that other programs make to the items are delivered as commits without transaction and origin. Keys are
  /// item attributes, which every program of the session can read. Values are stored only in the keyring, staged ones
  /// included; the journal, in `$XDG_DATA_HOME/coffer/keychain`, contains nothing that depends on a value. Each commit
  /// causes the keyring to rewrite its file three times, which takes 20 to 100 ms; not all of that survives power loss.
  ///
  /// With read-only access nothing is created, and a keyring without a journal is read as it is: it cannot be proven
  /// that it holds none of this service's secrets. Listings then read the secrets.
  ///
  /// A service that was never opened, and has secrets that another library has wrapped or named in its own way, is
  /// refused with `foreignFormat` unless the configuration ignores that (``SlotEngine/Configuration/foreignData``). If
  /// the keyring is locked at first, that is decided at the first operation that it can answer. Plain secrets under
  /// `service` and `account`, as `secret-tool` stores them, are values like others.
  /// - Parameters:
  ///   - service: the service that the secrets belong to, 1 to 256 bytes.
  ///   - accessGroup: a group of applications that share the secrets. It is not enforced on Linux.
  ///   - configuration: the options of the keychain.
  /// - Throws: `StorageError`: `unsupported` if the library was built without the trait `SecretService` or for invalid
  ///   names, `unavailable` if the journal's directory is not defined (HOME is unset), `permissionDenied`, `diskFull`,
  ///   `foreignFormat`, `newerFormat`, `damaged` (the journal).
  public static func keychain(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> SlotEngine {
    let system = SystemDirectories.current
    let location = try KeychainLocation(service: service, accessGroup: accessGroup, in: system)
    return try await configuration.store.events.opening(at: location.description, isReadOnly: \.isReadOnly) {
      let slots = try await runBlocking { try location.slots(configuration) }
      if configuration.store.access == .readOnly {
        return try await runBlocking { try readOnly(slots, location, configuration.store.forSecrets) }
      }
      return try await open(
        slots, journalIn: location.control, name: location.description, configuration: configuration.store.forSecrets)
    }
  }

  /// Opens the secrets of a service for callers that cannot suspend. Blocks the thread while the journal is opened.
  package static func keychainBlocking(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) throws -> SlotEngine {
    let location = try KeychainLocation(service: service, accessGroup: accessGroup, in: .current)
    return try configuration.store.events.openingNow(at: location.description, isReadOnly: \.isReadOnly) {
      let slots = try location.slots(configuration)
      if configuration.store.access == .readOnly {
        return try readOnly(slots, location, configuration.store.forSecrets)
      }
      return try SlotEngine(
        slots, journalIn: location.control, name: location.description, configuration: configuration.store.forSecrets)
    }
  }

  private static func readOnly(
    _ slots: any Slots, _ location: KeychainLocation, _ configuration: SlotEngine.Configuration
  ) throws -> SlotEngine {
    try SlotEngine(
      readOnly: slots, journalIn: location.control, name: location.description, configuration: configuration,
      because: StorageError.readOnlyRequest)
  }
}

/// The scope of a keychain and the location of its journal.
struct KeychainLocation: Sendable {
  let scope: KeyringScope
  private let data: String

  init(service: String, accessGroup: String?, in system: SystemDirectories) throws(StorageError) {
    scope = try KeyringScope(service: service, accessGroup: accessGroup)
    do {
      data = try system.url(for: .applicationSupport).path
    } catch {
      throw error.locating(at: scope.description)
    }
  }

  private init(_ scope: KeyringScope, data: String) { (self.scope, self.data) = (scope, data) }

  static let noJournalDirectory =
    "The keyring cannot be used without a directory for its journal: neither HOME nor XDG_DATA_HOME is set."

  /// Returns the location, or `nil` if the environment defines none, so that this process cannot use the keyring.
  /// - Throws: `unavailable` if a journal in the home directory of the user database shows that this user has used the
  ///   keychain: a process without HOME must not create another store.
  static func ifAny(
    service: String, accessGroup: String?, in system: SystemDirectories
  ) throws -> KeychainLocation? {
    do {
      return try KeychainLocation(service: service, accessGroup: accessGroup, in: system)
    } catch {
      guard error.code == .unavailable else { throw error }
      let scope = try KeyringScope(service: service, accessGroup: accessGroup)
      guard let home = SystemDirectories.registeredHome else { return nil }
      let location = KeychainLocation(scope, data: home + "/.local/share")
      guard try location.wasUsed() else { return nil }
      throw StorageError(
        .unavailable, "\(noJournalDirectory) It was used before, from \(home.escapingControlCharacters).",
        advice: "Set HOME, or remove the keyring from the chain.", location: scope.description)
    }
  }

  var description: String { scope.description }
  var control: String { data + "/coffer/keychain/" + scope.directoryName }

  private var journal: String { control + "/journal.db" }

  /// Returns whether this user has opened the keychain under this name before.
  /// - Throws: `permissionDenied` and similar errors if that cannot be determined.
  func wasUsed() throws -> Bool {
    do {
      return try PathParts.exists(journal)
    } catch {
      // The home directory of a service user may be /dev/null, which contains nothing.
      guard error.underlying?.code == Int(ENOTDIR) else { throw error }
      return false
    }
  }

  /// Returns whether the journal lists any keys. The keyring itself may be locked.
  func journalHasKeys() async throws -> Bool {
    var configuration = SQLiteEngine.Configuration.slotJournal(named: description)
    configuration.access = .readOnly
    let engine = try await SQLiteEngine.open(at: journal, configuration: configuration)
    let hasKeys = try await engine.withSnapshot {
      try await !$0.summaries(prefix: nil, after: nil, limit: 1).isEmpty
    }
    try await engine.close()
    return hasKeys
  }

  #if SecretService && os(Linux)
    /// Returns the slots of the service, and prepares the directory of the journal unless only to be read.
    ///
    /// - Throws: `foreignFormat` if the service has never been opened, and has secrets of another library. A keyring
    ///   that cannot be asked now is asked at the first use.
    func slots(_ configuration: KeychainConfiguration) throws -> any Slots {
      let isReadOnly = configuration.store.access == .readOnly
      do {
        let foreign = try ForeignSecrets(
          at: description, control: control, isNew: !wasUsed(), policy: configuration.store.foreignData,
          isReadOnly: isReadOnly)
        let slots = KeyringSlots(
          scope, accessibility: configuration.accessibility, keyringDirectory: data + "/keyrings", control: control,
          address: configuration.address, timeout: configuration.timeout,
          allowsPlainSession: configuration.allowsPlainSession, allowsPrompts: configuration.allowsPrompts,
          foreign: foreign)
        try slots.refuseForeignNow()
        if !isReadOnly {
          try OpenDirectory.make(control)
          try foreign?.prepare()
        }
        return slots
      } catch let error as StorageError {
        throw error.locating(at: description)
      }
    }
  #else
    func slots(_ configuration: KeychainConfiguration) throws -> any Slots {
      throw StorageError(
        .unsupported, "This program was built without support for the desktop's keyring.",
        advice: "Build it on Linux with the package trait 'SecretService', or use a sealed file.",
        location: description)
    }
  #endif
}
