import Coffer
import CofferFileSystem
import CofferPreferences
import Foundation

extension StoreLocation {
  /// Whether the place of the store was looked at and found empty: what status 3 needs.
  /// - Throws: What keeps it from being looked at.
  func isAbsent() throws -> Bool { try traces().allSatisfy { try !PathParts.exists($0) } }

  /// Any of these shows that somebody has begun to use the store.
  private func traces() throws -> [String] {
    switch self {
    case .sqlite: return []  // An empty file is no store, either: opening it has looked at all that there is.
    case .files(let directory): return [directory + "/.coffer"].map(absolute)
    case .memory, .keychain: return []
    case .preferences(let suite):
      let place = try PreferencesInspection.place(of: suite)
      return [place.path, place.control]
    case .sealed(let path): return [path, path + ".coffer/journal.db"].map(absolute)
    case .chain(let links): return try links.flatMap { try $0.traces() }  // The chain has asked for the others.
    }
  }

  private func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
