import Coffer
import CofferFileSystem
import CofferTerminal
import Foundation

extension StoreLocation {
  /// Understands what was typed: what is wrong with it is wrong with the command line.
  init(parsing text: String) throws {
    do { try self.init(text) } catch let error as StorageError {
      throw UsageError([error.message, error.advice].filter { !$0.isEmpty }.joined(separator: " "))
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

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The system's directories without which the store cannot be used.
  var neededDirectories: Set<SystemDirectories.Purpose> {
    switch self {
    case .preferences: [.preferences]
    case .keychain: [.applicationSupport]
    // The places of the others are named, and a chain goes on to the next home.
    case .sqlite, .files, .memory, .sealed, .chain, .other: []
    }
  }
}
