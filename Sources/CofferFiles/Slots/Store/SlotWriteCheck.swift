import CofferFileSystem
import CofferSQLite
import Foundation

/// A check for what keeps this user from writing to a store in slots, made before anything is opened or created.
package enum SlotWriteCheck {
  /// The directories that every writer of such a store writes to.
  private static let directories = ["owners", "staged", "retained", "quarantine"]
  private static let files = ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db-wake"]

  /// Returns the reason why this user cannot write, as the end of a sentence, or `nil` if none is found.
  /// - Parameter control: the path of the directory of the journal. If it is missing, its nearest existing parent is
  ///   checked.
  package static func reason(control: String) -> String? {
    let what = "the directory of its journal"
    var path = control
    while access(path, F_OK) != 0, errno == ENOENT, PathParts(path).parent != path {
      path = PathParts(path).parent
    }
    if let reason = WriteRefusal.reason(path, W_OK | X_OK, path == control ? what : "its directory") { return reason }
    guard path == control else { return nil }
    return directories.lazy.compactMap { WriteRefusal.reason("\(control)/\($0)", W_OK | X_OK, what) }.first
      ?? files.lazy.compactMap { WriteRefusal.reason("\(control)/\($0)", R_OK | W_OK, "its journal") }.first
  }
}
