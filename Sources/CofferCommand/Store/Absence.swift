import Coffer
import CofferFileSystem
import Foundation

extension StoreLocation {
  /// Returns whether the location was inspected and holds no store, which is the condition for exit status 3.
  /// - Throws: The error that prevented the inspection.
  func isAbsent() throws -> Bool {
    switch self {
    // The failed opening was the inspection; an empty file is no store, either.
    case .sqlite, .memory, .keychain, .other: true
    // A directory of files becomes a store only with its control directory.
    case .files(let directory): try !PathParts.exists(URL(fileURLWithPath: directory + "/.coffer").path)
    case .preferences, .sealed: try !exists()
    case .encrypted(let base): try base.isAbsent()
    case .chain(let links): try links.allSatisfy { try $0.isAbsent() }
    }
  }
}
