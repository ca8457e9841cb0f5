import Coffer
import CofferTerminal
import Foundation

/// Which store is meant, and how it is written.
enum StoreLocation: Sendable {
  case sqlite(path: String)
  case files(directory: String)
  case memory(name: String)
  case preferences(suite: String)
  case keychain(service: String, group: String?)
  case sealed(path: String)
  /// Homes for secrets in the order in which they are wanted.
  case chain([StoreLocation])

  /// What help says of each kind.
  static let kinds = [
    ("PATH, sqlite:PATH", "one database file"),
    ("file:DIR", "a directory with a file per key"),
    ("prefs:SUITE", "what UserDefaults(suiteName:) reads"),
    ("keychain:SERVICE[@GROUP]", "secrets in the desktop's keyring"),
    ("sealed:PATH", "secrets in one file, under a passphrase"),
    ("keychain:SERVICE+sealed:PATH", "the first that can be used"),
    ("memory:", "ends with the command"),
  ]

  /// Understands what was typed.
  init(parsing text: String) throws {
    let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-") }
    let rest = text.dropFirst(scheme.count)
    guard !scheme.isEmpty, rest.first == ":" else {
      self = .sqlite(path: text)
      try check()
      return
    }
    let place = String(rest.dropFirst())
    switch scheme {
    case "sqlite": self = .sqlite(path: place)
    case "file": self = .files(directory: place)
    case "memory": self = .memory(name: place)
    case "prefs": self = .preferences(suite: place)
    case "sealed": self = .sealed(path: place)
    case "keychain": self = try Self.keychain(place)
    default:
      var known = ["sqlite"]
      for name in Self.kinds.dropFirst().map({ String($0.0.prefix { $0 != ":" }) }) where !known.contains(name) {
        known.append(name)
      }
      throw UsageError(
        "'\(String(scheme).oneLine(limit: 20)):' is no kind of store; known are "
          + "\(known.map { $0 + ":" }.joined(separator: ", ")). "
          + "Write ./ before a file name that contains a colon.")
    }
    try check()
  }

  /// `SERVICE`, `SERVICE@GROUP`, and a sealed file after them.
  private static func keychain(_ place: String) throws -> StoreLocation {
    guard let then = place.range(of: "+sealed:") else {
      let parts = place.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      return .keychain(service: parts[0], group: parts.count > 1 ? parts[1] : nil)
    }
    let sealed = StoreLocation.sealed(path: String(place[then.upperBound...]))
    try sealed.check()
    return .chain([try keychain(String(place[..<then.lowerBound])), sealed])
  }

  private func check() throws {
    switch self {
    case .sqlite(let path):
      guard !path.isEmpty else { throw UsageError("The store has no path: sqlite:PATH.") }
      guard !path.hasSuffix("/") else { throw UsageError("A store is a file, and this path ends in a slash.") }
    case .files(let directory):
      guard !directory.isEmpty else { throw UsageError("The store has no directory: file:DIR.") }
    case .preferences(let suite):
      guard !suite.isEmpty else { throw UsageError("The preferences have no name: prefs:SUITE.") }
    case .sealed(let path):
      guard !path.isEmpty, !path.hasSuffix("/") else { throw UsageError("The sealed store has no path: sealed:PATH.") }
      guard !path.contains("+keychain:") else {
        throw UsageError("A sealed file is the last of a chain: keychain:SERVICE+sealed:PATH.")
      }
    case .keychain(let service, let group):
      guard !service.isEmpty, group != "" else { throw UsageError("A name is empty: keychain:SERVICE[@GROUP].") }
    case .memory, .chain: break
    }
  }

  /// Whether it is a home for secrets.
  var keepsSecrets: Bool {
    switch self {
    case .keychain, .sealed, .chain: true
    case .sqlite, .files, .memory, .preferences: false
    }
  }

  /// `--store`, else `COFFER_STORE`, else the user's own store.
  static func of(_ invocation: Invocation) throws -> StoreLocation {
    if let location = invocation.options[.store] ?? environment("COFFER_STORE") {
      return try StoreLocation(parsing: location)
    }
    // A relative XDG_DATA_HOME is invalid and ignored: so says its specification.
    if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") {
      return .sqlite(path: "\(data)/coffer/coffer.db")
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw UsageError("There is no HOME and so no default store: say where it is, --store PATH.", invocation.command)
    }
    return .sqlite(path: "\(home)/.local/share/coffer/coffer.db")
  }

  /// Whether the command line or the environment names the store.
  static func isNamed(in invocation: Invocation) -> Bool {
    invocation.options[.store] != nil || environment("COFFER_STORE") != nil
  }

  /// Whether opening it may take a passphrase.
  var mayBeSealed: Bool {
    switch self {
    case .sealed, .chain: true
    case .sqlite, .files, .memory, .preferences, .keychain: false
    }
  }

  /// As it is typed.
  var description: String {
    switch self {
    case .sqlite(let path): "sqlite:\(path)"
    case .files(let directory): "file:\(directory)"
    case .memory(let name): "memory:\(name)"
    case .preferences(let suite): "prefs:\(suite)"
    case .keychain(let service, let group): "keychain:\(service)" + (group.map { "@\($0)" } ?? "")
    case .sealed(let path): "sealed:\(path)"
    case .chain(let links): links.map(\.description).joined(separator: "+")
    }
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}
