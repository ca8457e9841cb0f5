import Coffer
import CofferFileSystem
import Foundation

extension StoreLocation {
  /// Whether the place of the store was looked at and found empty: what status 3 needs.
  /// - Throws: What keeps it from being looked at.
  func isAbsent() throws -> Bool {
    switch self {
    // An empty file is no store, either: opening it has looked at all that there is, as it has in a keyring.
    case .sqlite, .memory, .keychain: true
    // A directory with files and nothing of ours is no store.
    case .files(let directory): try !PathParts.exists(URL(fileURLWithPath: directory + "/.coffer").path)
    case .preferences, .sealed, .other: try !exists()
    case .chain(let links): try links.allSatisfy { try $0.isAbsent() }
    }
  }
}
