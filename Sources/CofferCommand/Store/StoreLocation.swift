import Coffer
import CofferFileSystem
import CofferTerminal
import Foundation

extension StoreLocation {
  /// Creates a location from an argument or an environment variable. An invalid location is a usage error.
  init(parsing text: String) throws {
    do { try self.init(text) } catch let error as StorageError {
      throw Command.mistake([error.message, error.advice].filter { !$0.isEmpty }.joined(separator: " "))
    }
  }

  /// Creates the location of a store of files from the path of its directory, or returns `nil` if there is no such
  /// store at this path. A final slash, which shells complete, is allowed.
  init?(directoryAt path: String) {
    var directory = URL(fileURLWithPath: path).path
    while directory.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    guard FileManager.default.fileExists(atPath: directory + "/.coffer") else { return nil }
    self = .files(directory: directory)
  }

  /// The location with the user's directory instead of a `~` at the beginning of a path, as it is opened.
  var expandingTilde: StoreLocation {
    switch self {
    case .sqlite(let path), .files(let path), .sealed(let path): path.hasPrefix("~") ? standardized : self
    case .chain(let links): .chain(links.map(\.expandingTilde))
    case .encrypted(let base): .encrypted(base.expandingTilde)
    case .memory, .preferences, .keychain, .other: self
    }
  }

  /// Returns the location in `--store`, else in `COFFER_STORE`, else the user's default store.
  static func of(_ invocation: Invocation) throws -> StoreLocation {
    if let location = invocation.options[.store] ?? environment("COFFER_STORE") {
      return try StoreLocation(parsing: location)
    }
    // The XDG Base Directory Specification requires a relative path to be ignored.
    if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") {
      return .sqlite(path: "\(data)/coffer/coffer.db")
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw Command.mistake(
        "HOME is not an absolute path, so there is no default store: use --store PATH.", invocation.command)
    }
    return .sqlite(path: "\(home)/.local/share/coffer/coffer.db")
  }

  /// Whether the command line or the environment names the store.
  static func isNamed(in invocation: Invocation) -> Bool {
    invocation.options[.store] != nil || environment("COFFER_STORE") != nil
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The system directories without which the store cannot be used.
  var neededDirectories: Set<SystemDirectories.Purpose> {
    switch self {
    case .preferences: [.preferences]
    case .keychain: [.applicationSupport]
    case .encrypted(let base): base.neededDirectories
    // The others name their files, and a chain continues with its next store.
    case .sqlite, .files, .memory, .sealed, .chain, .other: []
    }
  }
}
