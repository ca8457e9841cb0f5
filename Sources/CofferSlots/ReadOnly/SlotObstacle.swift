import CofferFileSystem
import CofferSQLite
import Foundation

/// Looks for what keeps this user from writing to a home in slots, before anything of it is opened or made.
package enum SlotObstacle {
  /// What is written to whenever such a home is used.
  private static let directories = ["owners", "staged", "retained", "quarantine"]
  private static let files = ["opening", "journal.db", "journal.db-wal", "journal.db-shm", "journal.db-wake"]

  /// What keeps this user from writing, as the end of a sentence; `nil` when nothing does that is known.
  /// - Parameter control: the path of the directory that has the journal; where it is missing, it would have to be
  ///   made.
  package static func reason(control: String) -> String? {
    let what = "the directory of its journal"
    var place = control
    while access(place, F_OK) != 0, errno == ENOENT, PathParts(place).parent != place {
      place = PathParts(place).parent
    }
    if let reason = WriteRefusal.reason(place, W_OK | X_OK, place == control ? what : "its directory") { return reason }
    guard place == control else { return nil }
    return directories.lazy.compactMap { WriteRefusal.reason("\(control)/\($0)", W_OK | X_OK, what) }.first
      ?? files.lazy.compactMap { WriteRefusal.reason("\(control)/\($0)", R_OK | W_OK, "its journal") }.first
  }
}
