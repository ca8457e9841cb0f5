public import CofferCore
public import CofferEncryption
public import CofferFiles
public import CofferSQLite
public import CofferSecrets

/// The settings for opening a store of any kind by its location.
public struct StoreOptions: Sendable {
  /// The settings of SQLite stores.
  public var database = SQLiteEngine.Configuration()
  /// The settings of file, preference and sealed stores.
  public var slots = SlotEngine.Configuration()
  /// The settings of keychains, and of chains that begin with one.
  public var keychain = KeychainConfiguration()
  /// Returns the source of the passphrase for the sealed file at a path. If it is `nil`, sealed files cannot be opened.
  public var passphrase: (@Sendable (_ path: String) throws -> PassphraseSource)?
  /// The settings of encrypted stores.
  public var encryption = StoreOptions.Encryption()
  /// The schemes of additional kinds of stores. Empty by default.
  public var schemes: [LocationScheme] = []

  /// Creates the default settings.
  public init() {}

  /// The access with which stores are opened: by default, a store that cannot be written is opened for reading only.
  /// Setting it changes the settings of every kind of store. If a ``LocationScheme`` ignores it, writes are refused
  /// anyway.
  public var access: StoreAccess {
    get {
      let all = [database.access, slots.access, keychain.store.access]
      return all.contains(.readOnly) ? .readOnly : all.contains(.readWrite) ? .readWrite : .readWriteOrReadOnly
    }
    set { (database.access, slots.access, keychain.store.access) = (newValue, newValue, newValue) }
  }

  /// Whether a missing store is created; `true` by default. Setting it changes the settings of every kind of store.
  public var createsIfMissing: Bool {
    get { database.createsIfMissing && slots.createsIfMissing && keychain.store.createsIfMissing }
    set {
      database.createsIfMissing = newValue
      slots.createsIfMissing = newValue
      keychain.store.createsIfMissing = newValue
    }
  }

  /// What opening does with data of another origin; by default, it throws `foreignFormat`. Setting it changes the
  /// settings of file and preference stores. An SQLite database of another application is always refused.
  public var foreignData: ForeignData.Policy {
    get { slots.foreignData }
    set { slots.foreignData = newValue }
  }

  /// Asks the user before a secret with an access control is read; none by default. Setting it changes the settings of
  /// every kind of store.
  public var authentication: AuthenticationContext? {
    get { keychain.authentication }
    set { (keychain.authentication, slots.authentication) = (newValue, newValue) }
  }

  /// Returns the access control that a key of the opened store declares.
  package var declaredAccessControl: (@Sendable (KeyName) -> KeychainAccessControl?)? {
    get { slots.declaredAccessControl }
    set { (keychain.store.declaredAccessControl, slots.declaredAccessControl) = (newValue, newValue) }
  }

  /// The hook for logging and metrics; none by default. Setting it changes the settings of every kind of store, and
  /// reaches stores in memory as well.
  public var events: CofferEvents? {
    get { database.events }
    set {
      database.events = newValue
      slots.events = newValue
      keychain.store.events = newValue
    }
  }
}
