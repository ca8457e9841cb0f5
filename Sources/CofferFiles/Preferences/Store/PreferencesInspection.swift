import CofferFileSystem

/// The files of preferences.
package enum PreferencesInspection {
  /// Returns the paths of a suite's file and of its control directory; those of this program's own suite for `nil`.
  package static func paths(of suite: String?) throws -> (path: String, control: String) {
    let paths = try PreferenceSuite(suite, in: .current)
    return (paths.path, paths.control)
  }
}
