import CofferCore
import Foundation

/// Where a store is, in one text: a database file, a directory, preferences, a home for secrets.
///
/// The `coffer` command, configuration files and ``StorageDomain/store(_:)`` name stores so.
///
/// ```swift
/// let location = try StoreLocation("keychain:com.example.shop+sealed:/var/lib/shop/secrets.sealed")
/// var options = StoreOptions()
/// options.passphrase = { _ in .systemdCredential("shop-secrets") }
/// let engine = try await location.open(options)
/// ```
///
/// Two locations are equal where their kinds and the bytes of their names are. Paths are compared as they are written.
public enum StoreLocation: Sendable {
  /// One database file.
  case sqlite(path: String)
  /// A directory with a file per key.
  case files(directory: String)
  /// Memory: gone when it is closed.
  case memory(name: String)
  /// What `UserDefaults(suiteName:)` reads.
  case preferences(suite: String)
  /// Secrets of a service in the desktop's keyring, and the group of applications that shares them.
  case keychain(service: String, accessGroup: String? = nil)
  /// Secrets in one file, under a passphrase.
  case sealed(path: String)
  /// A keychain and then a sealed file: the first that can be used, as `SecretChain` chooses.
  indirect case chain([StoreLocation])
  /// A kind of store that a ``StoreScheme`` adds.
  case other(scheme: String, place: String)

  /// How each kind is written, and what it is, for help texts.
  public static let kinds: [(form: String, meaning: String)] = [
    ("PATH, sqlite:PATH", "one database file"),
    ("file:DIR", "a directory with a file per key"),
    ("prefs:SUITE", "what UserDefaults(suiteName:) reads"),
    ("keychain:SERVICE[@GROUP]", "secrets in the desktop's keyring"),
    ("sealed:PATH", "secrets in one file, under a passphrase"),
    ("keychain:SERVICE+sealed:PATH", "the first that can be used"),
    ("memory:", "gone when it is closed"),
  ]

  /// Whether it is a home for secrets.
  public var keepsSecrets: Bool {
    switch self {
    case .keychain, .sealed, .chain: true
    case .sqlite, .files, .memory, .preferences, .other: false
    }
  }

  /// Whether opening it may take a passphrase.
  public var mayBeSealed: Bool {
    switch self {
    case .sealed, .chain: true
    case .sqlite, .files, .memory, .preferences, .keychain, .other: false
    }
  }
}

extension StoreLocation: Hashable {
  /// What tells it from others: its kind and its names, by their bytes.
  private var identity: [ExactText] {
    let texts: [String] =
      switch self {
      case .sqlite(let path): ["sqlite", path]
      case .files(let directory): ["file", directory]
      case .memory(let name): ["memory", name]
      case .preferences(let suite): ["prefs", suite]
      case .keychain(let service, let group): ["keychain", service] + (group.map { [$0] } ?? [])
      case .sealed(let path): ["sealed", path]
      case .other(let scheme, let place): [scheme, place]
      case .chain(let links): links.flatMap { ["\($0.identity.count)"] + $0.identity.map(\.description) }
      }
    return texts.map(ExactText.init)
  }

  /// Whether both are of one kind and have the same names, byte for byte.
  public static func == (left: StoreLocation, right: StoreLocation) -> Bool { left.identity == right.identity }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
