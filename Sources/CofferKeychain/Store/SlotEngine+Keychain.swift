import CofferCore
public import CofferCrypto
import CofferFileSystem
import CofferSQLite
public import CofferSlots
import Foundation

/// How a keychain is opened.
public struct KeychainConfiguration: Sendable {
  /// The store's own settings. Values are limited to 64 KiB whatever it says.
  public var store = SlotConfiguration()

  /// The class of values that are stored without one.
  public var accessibility = KeychainAccessibility.whenUnlocked

  /// How long to wait for each answer of the keyring. It never waits for a person.
  public var timeout = Duration.seconds(2)

  /// Whether secrets may cross the session bus unencrypted where the keyring cannot do better; false by default. Such a
  /// keyring is `unavailable` then, since everybody who can watch the bus could read along.
  public var allowsPlainSession = false

  /// What trying the passphrase of a sealed file in a chain may cost.
  public var passphraseLimits = PassphraseLimits()

  /// The bus of the session, where it is not the environment's.
  package var address: String?

  /// The usual settings.
  public init() {}
}

extension SlotEngine {
  /// Opens the secrets of a service in the desktop's keyring: the freedesktop Secret Service, which gnome-keyring,
  /// KeePassXC and KWallet offer.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.keychain(service: "com.example.shop")
  /// try await TypedStore(engine: engine).save(token, for: "api-token")
  /// // $ secret-tool lookup service com.example.shop account api-token
  /// ```
  ///
  /// It opens whatever the keyring's state is. While there is no bus, no keyring or a locked one, every use throws
  /// `unavailable`, and `availability()` says why; once the keyring is unlocked everything works, without opening it
  /// again. It never asks the user anything and never waits longer than its timeout for an answer.
  ///
  /// What other programs do to the items is heard as commits without transaction and origin. Names of keys are
  /// attributes, which every program of the session can read; values are only in the keyring, also while they wait for
  /// their commit. The journal, in `$XDG_DATA_HOME/coffer/keychain`, holds nothing that depends on a value. Each commit
  /// makes the keyring rewrite its file three times, 20 to 100 ms, and not all of that survives power loss.
  /// - Parameters:
  ///   - service: whose secrets they are, 1 to 256 bytes.
  ///   - accessGroup: a group of applications that share them. Nothing on Linux keeps others out.
  ///   - configuration: how it is opened.
  /// - Throws: `StorageError`: `unsupported` where the library was built without the trait `SecretService` or for names
  ///   that cannot be, `unavailable` when nothing says where the journal is (HOME is unset), `permissionDenied`,
  ///   `diskFull`, `newerFormat`, `damaged` (the journal).
  public static func keychain(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> SlotEngine {
    let system = SystemDirectories.current
    let place = try KeychainPlace(service: service, accessGroup: accessGroup, in: system)
    let slots = try place.slots(configuration)
    return try await open(
      slots, journalIn: place.control, name: place.description, configuration: configuration.store.forSecrets)
  }

  /// The same for callers that cannot suspend: it blocks their thread while the journal is opened.
  package static func keychainBlocking(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) throws -> SlotEngine {
    let place = try KeychainPlace(service: service, accessGroup: accessGroup, in: .current)
    let slots = try place.slots(configuration)
    return try SlotEngine(
      slots, journalIn: place.control, name: place.description, configuration: configuration.store.forSecrets)
  }
}

/// Where the journal of a keychain is.
struct KeychainPlace: Sendable {
  let scope: KeyringScope
  private let data: String

  init(service: String, accessGroup: String?, in system: SystemDirectories) throws(StorageError) {
    scope = try KeyringScope(service: service, accessGroup: accessGroup)
    do {
      data = try system.url(for: .applicationSupport).path
    } catch {
      throw error.locating(backend: scope.description)
    }
  }

  private init(_ scope: KeyringScope, data: String) { (self.scope, self.data) = (scope, data) }

  static let noHome =
    "The keyring cannot be used without a place for its journal: neither HOME nor XDG_DATA_HOME is set."

  /// The place, or `nil` where the environment says nothing of it: then this process cannot use the keyring.
  /// - Throws: `unavailable` when this user has used the keychain, as the journal in the home directory shows that the
  ///   system's list of users has: a process that happens to have no HOME must not begin another store.
  static func ifAny(
    service: String, accessGroup: String?, in system: SystemDirectories
  ) throws -> KeychainPlace? {
    do {
      return try KeychainPlace(service: service, accessGroup: accessGroup, in: system)
    } catch {
      guard error.code == .unavailable else { throw error }
      let scope = try KeyringScope(service: service, accessGroup: accessGroup)
      guard let home = SystemDirectories.registeredHome else { return nil }
      let place = KeychainPlace(scope, data: home + "/.local/share")
      guard try place.wasUsed() else { return nil }
      throw StorageError(
        .unavailable, "\(noHome) It was used before, from \(home.escapingControlCharacters).",
        advice: "Set HOME, or take the keyring out of the chain.", backend: scope.description)
    }
  }

  var description: String { scope.description }
  var control: String { data + "/coffer/keychain/" + scope.directoryName }

  private var journal: String { control + "/journal.db" }

  /// Whether the keychain has been opened by this user under this name.
  /// - Throws: `permissionDenied` and the like where that cannot be told.
  func wasUsed() throws -> Bool {
    do {
      return try PathParts.exists(journal)
    } catch {
      // A home such as /dev/null, which the users of services have, holds nothing.
      guard error.underlying?.code == Int(ENOTDIR) else { throw error }
      return false
    }
  }

  /// Whether it holds anything, as far as the journal knows; the keyring itself may be locked.
  func journalHasKeys() async throws -> Bool {
    let engine = try await SQLiteEngine.open(at: journal, configuration: .slotJournal(named: description))
    let hasKeys = try await engine.withSnapshot { try await !$0.summaries(prefix: nil, after: nil, limit: 1).isEmpty }
    try await engine.close()
    return hasKeys
  }

  #if SecretService && os(Linux)
    func slots(_ configuration: KeychainConfiguration) throws(StorageError) -> any Slots {
      do {
        try OpenDirectory.make(control)
      } catch {
        throw error.locating(backend: description)
      }
      return KeyringSlots(
        scope, accessibility: configuration.accessibility, keyringDirectory: data + "/keyrings", control: control,
        address: configuration.address, timeout: configuration.timeout,
        allowsPlainSession: configuration.allowsPlainSession)
    }
  #else
    func slots(_ configuration: KeychainConfiguration) throws(StorageError) -> any Slots {
      throw StorageError(
        .unsupported, "This program was built without the desktop's keyring.",
        advice: "Build it on Linux with the package trait 'SecretService', or use a sealed file.", backend: description)
    }
  #endif
}
