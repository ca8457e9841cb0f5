public import CofferCore
import Foundation

extension StoreLocation {
  /// Parses a text such as `sqlite:/var/lib/shop/app.db`. A text without a scheme is the path of a database.
  ///
  /// In the names of a `keychain:` location, `%40` stands for `@`, `%2B` for `+` and `%25` for `%`.
  /// - Parameters:
  ///   - text: the text form of the location.
  ///   - schemes: schemes to accept in addition to those of this library and to registered ones (`EngineScheme`).
  /// - Throws: `StorageError` with code `invalidLocation`, whose message states the mistake.
  public init(_ text: String, schemes: [LocationScheme] = []) throws {
    let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-") }
    let rest = text.dropFirst(scheme.count)
    guard !scheme.isEmpty, rest.first == ":" else {
      self = .sqlite(path: text)
      try check()
      return
    }
    let address = String(rest.dropFirst())
    switch scheme {
    case "sqlite": self = .sqlite(path: address)
    case "file": self = .files(directory: address)
    case "memory": self = .memory(name: address)
    case "prefs": self = .preferences(suite: address)
    case "sealed": self = .sealed(path: address)
    case "keychain": self = try Self.keychain(address)
    case "encrypted": self = .encrypted(try StoreLocation(address, schemes: schemes))
    default:
      guard let other = LocationScheme.named(scheme, in: schemes) else {
        throw Self.unknown(String(scheme), schemes)
      }
      self = .other(scheme: other.name, address: address)
      try other.check(address)
    }
    try check()
  }

  private static func unknown(_ scheme: String, _ schemes: [LocationScheme]) -> StorageError {
    var known = ["sqlite"]
    for name in kinds.dropFirst().map({ String($0.form.prefix { $0 != ":" }) }) where !known.contains(name) {
      known.append(name)
    }
    known += LocationScheme.all(schemes).map(\.name)
    let name = scheme.count > 20 ? scheme.prefix(20) + "…" : scheme
    return .invalidLocation(
      "'\(name):' is not a kind of store; known kinds are \(known.map { $0 + ":" }.joined(separator: ", ")).",
      advice: "Write ./ before a file name that contains a colon.")
  }

  /// Parses `SERVICE[@GROUP]`, optionally followed by a sealed file.
  private static func keychain(_ address: String) throws -> StoreLocation {
    guard let then = address.range(of: "+sealed:") else {
      let parts = try address.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(decoded)
      return .keychain(service: parts[0], accessGroup: parts.count > 1 ? parts[1] : nil)
    }
    return .chain([
      try keychain(String(address[..<then.lowerBound])), .sealed(path: String(address[then.upperBound...])),
    ])
  }

  private static func decoded(_ text: Substring) throws -> String {
    guard text.contains("%") else { return String(text) }
    guard let decoded = text.removingPercentEncoding else {
      throw StorageError.invalidLocation("A % must be followed by two hexadecimal digits; write %25 for a % itself.")
    }
    return decoded
  }

  private static func encoded(_ name: String) -> String {
    name.replacing("%", with: "%25").replacing("@", with: "%40").replacing("+", with: "%2B")
  }

  /// Validates the names and paths of the location.
  /// - Throws: `invalidLocation` when a name or path is missing or invalid.
  package func check() throws {
    func require(_ isFine: Bool, _ message: String) throws {
      guard isFine else { throw StorageError.invalidLocation(message) }
    }
    switch self {
    case .sqlite(let path):
      try require(!path.isEmpty, "The store has no path: sqlite:PATH.")
      try require(!path.hasSuffix("/"), "A store is a file, and this path ends in a slash.")
    case .files(let directory): try require(!directory.isEmpty, "The store has no directory: file:DIR.")
    case .preferences(let suite): try require(!suite.isEmpty, "The preferences have no name: prefs:SUITE.")
    case .sealed(let path):
      try require(!path.isEmpty && !path.hasSuffix("/"), "The sealed store has no path: sealed:PATH.")
      try require(!path.contains("+keychain:"), Self.chainForm)
    case .keychain(let service, let group):
      try require(!service.isEmpty && group != "", "A name is empty: keychain:SERVICE[@GROUP].")
    case .chain(let links):
      guard links.count == 2, case .keychain = links[0], case .sealed = links[1] else {
        throw StorageError.invalidLocation(Self.chainForm)
      }
      for link in links { try link.check() }
    case .encrypted(let base):
      try base.check()
      try require(
        !base.keepsSecrets,
        "\(base) protects its values already: encrypted:STORE takes a database, files or preferences.")
    case .memory, .other: break
    }
  }

  private static let chainForm = "A sealed file is the last of a chain: keychain:SERVICE+sealed:PATH."
}

extension StoreLocation: CustomStringConvertible {
  /// The text form of the location, which ``init(_:schemes:)`` parses.
  public var description: String {
    switch self {
    case .sqlite(let path): "sqlite:\(path)"
    case .files(let directory): "file:\(directory)"
    case .memory(let name): "memory:\(name)"
    case .preferences(let suite): "prefs:\(suite)"
    case .keychain(let service, let group):
      "keychain:\(Self.encoded(service))" + (group.map { "@\(Self.encoded($0))" } ?? "")
    case .sealed(let path): "sealed:\(path)"
    case .chain(let links): links.map(\.description).joined(separator: "+")
    case .encrypted(let base): "encrypted:\(base)"
    case .other(let scheme, let address): "\(scheme):\(address)"
    }
  }
}

extension StorageError.Code {
  /// The text is not a valid location of a store.
  public static let invalidLocation = StorageError.Code("invalidLocation")
}

extension StorageError {
  static func invalidLocation(_ message: String, advice: String = "") -> StorageError {
    StorageError(.invalidLocation, message, advice: advice)
  }
}
