package import CofferCore
import CofferFileSystem
package import Foundation

/// An inspection of preferences that opens no store and changes nothing.
package enum PreferencesInspection {
  /// Returns the paths of a suite's file and of its control directory; those of this program's own suite for `nil`.
  package static func paths(of suite: String?) throws -> (path: String, control: String) {
    let paths = try PreferenceSuite(suite, in: .current)
    return (paths.path, paths.control)
  }

  /// Counts the values in a file of preferences, and reads those among them that are envelopes.
  /// - Returns: The number and the envelopes, or `nil` if there is no file.
  /// - Throws: `damaged` if the file is no valid property list, and the errors of reading it.
  package static func inspect(_ path: String) throws -> (all: Int, sealed: [KeyName: Data])? {
    guard try PathParts.exists(path) else { return nil }
    let parts = PathParts(try PathParts.resolvingLink(path))
    guard let content = try Directory(parts.parent, location: "prefs:\(path)").read(parts.last, limit: 1 << 30) else {
      return nil
    }
    let values = try PropertyListFormat().decode(content.data).values
    return (values.count, values.compactMapValues(\.data).filter { SealedValue.isPresent(in: $0.value) })
  }
}
