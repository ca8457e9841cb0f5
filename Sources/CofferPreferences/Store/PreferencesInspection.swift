import CofferCore
import CofferFileSystem
import Foundation

/// A look at preferences that opens no store and changes nothing.
package enum PreferencesInspection {
  /// Where the preferences of a name are, and where Coffer's own directory for them is.
  package static func place(of suite: String) throws -> (path: String, control: String) {
    let place = try PreferenceSuite(suite, in: .current)
    return (place.path, place.control)
  }

  /// - Returns: how many values there are; `nil` when there is no file.
  /// - Throws: `damaged`, and what reading throws.
  package static func inspect(_ path: String) throws -> Int? {
    guard try PathParts.exists(path) else { return nil }
    let parts = PathParts(try PathParts.resolvingLink(path))
    guard let content = try Directory(parts.parent, backend: "prefs:\(path)").read(parts.last, limit: 1 << 30) else {
      return nil
    }
    return try PropertyListFormat().decode(content.data).values.count
  }
}
