import CofferCore
import Foundation

/// The location of a store: a database file, a directory, preferences, a keychain or a sealed file.
///
/// Its text form, such as `sqlite:/var/lib/shop/app.db`, is used by the `coffer` command and in configuration files.
///
/// ```swift
/// let location = try StoreLocation("keychain:com.example.shop+sealed:/var/lib/shop/secrets.sealed")
/// var options = StoreOptions()
/// options.passphrase = { _ in .systemdCredential("shop-secrets") }
/// let engine = try await location.open(options)
/// ```
///
/// A `~` or `~user` at the beginning of a path is the home directory of that user in the system's user database, not
/// `$HOME`, also behind a scheme: `sqlite:~/app.db`. A file of that name is `./~`.
///
/// Two locations are equal if their kinds and the bytes of their names are equal. Paths are compared as they are
/// written.
public enum StoreLocation: Sendable {
  /// An SQLite database file.
  case sqlite(path: String)
  /// A directory with a file per key.
  case files(directory: String)
  /// A store in memory, which is lost when it is closed.
  case memory(name: String)
  /// The preferences that `UserDefaults(suiteName:)` reads.
  case preferences(suite: String)
  /// The secrets of a service in the desktop's keyring, optionally of a group of applications that share them.
  case keychain(service: String, accessGroup: String? = nil)
  /// Secrets in one file, encrypted under a passphrase.
  case sealed(path: String)
  /// A keychain followed by a sealed file, of which `SecretChain` selects one.
  indirect case chain([StoreLocation])
  /// A store whose values are encrypted by this library, in a store of another kind.
  indirect case encrypted(StoreLocation)
  /// A store of a kind that a ``LocationScheme`` adds.
  case other(scheme: String, address: String)

  /// The text form and the meaning of each kind of location, for help texts.
  public static let kinds: [(form: String, meaning: String)] = [
    ("PATH, sqlite:PATH", "one database file"),
    ("file:DIR", "a directory with a file per key"),
    ("prefs:SUITE", "what UserDefaults(suiteName:) reads"),
    ("keychain:SERVICE[@GROUP]", "secrets in the desktop's keyring"),
    ("sealed:PATH", "secrets in one file, under a passphrase"),
    ("keychain:SERVICE+sealed:PATH", "a keyring, or a sealed file without one"),
    ("encrypted:STORE", "one of these, with encrypted values"),
    ("memory:", "gone when it is closed"),
  ]

  /// Whether the store protects its values: a keychain, a sealed file, a chain of them, or an encrypted store.
  public var keepsSecrets: Bool {
    switch self {
    case .keychain, .sealed, .chain, .encrypted: true
    case .sqlite, .files, .memory, .preferences, .other: false
    }
  }

  /// Whether opening the store may require a passphrase.
  public var mayBeSealed: Bool {
    switch self {
    case .sealed, .chain: true
    case .sqlite, .files, .memory, .preferences, .keychain, .encrypted, .other: false
    }
  }
}

extension StoreLocation: Hashable {
  /// The compared parts: the kind and the names, by their bytes.
  private var identity: [ExactText] {
    let texts: [String] =
      switch self {
      case .sqlite(let path): ["sqlite", path]
      case .files(let directory): ["file", directory]
      case .memory(let name): ["memory", name]
      case .preferences(let suite): ["prefs", suite]
      case .keychain(let service, let group): ["keychain", service] + (group.map { [$0] } ?? [])
      case .sealed(let path): ["sealed", path]
      case .encrypted(let base): ["encrypted"] + base.identity.map(\.description)
      case .other(let scheme, let address): [scheme, address]
      case .chain(let links): links.flatMap { ["\($0.identity.count)"] + $0.identity.map(\.description) }
      }
    return texts.map(ExactText.init)
  }

  /// Returns whether two locations have the same kind and the same names, byte for byte.
  public static func == (left: StoreLocation, right: StoreLocation) -> Bool { left.identity == right.identity }

  /// Hashes the kind and the bytes of the names.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
