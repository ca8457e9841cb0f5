public import CofferCrypto
public import CofferKeychain
public import CofferSQLite
public import CofferSlots

/// How stores are opened, whatever their kind.
public struct StoreOptions: Sendable {
  /// How databases are opened.
  public var database = SQLiteConfiguration()
  /// How files, preferences and sealed files are opened.
  public var slots = SlotConfiguration()
  /// How keychains, and chains that begin with one, are opened.
  public var keychain = KeychainConfiguration()
  /// Where the passphrase of the sealed file at a path is read. Without it no sealed file can be opened.
  public var passphrase: (@Sendable (_ path: String) throws -> PassphraseSource)?
  /// Kinds of stores beside those of this library.
  public var schemes: [StoreScheme] = []

  /// The usual settings.
  public init() {}

  /// Whether a store that is not there is made; true unless said otherwise. Setting it sets it for every kind.
  public var createsIfMissing: Bool {
    get { database.createsIfMissing && slots.createsIfMissing && keychain.store.createsIfMissing }
    set {
      database.createsIfMissing = newValue
      slots.createsIfMissing = newValue
      keychain.store.createsIfMissing = newValue
    }
  }
}
