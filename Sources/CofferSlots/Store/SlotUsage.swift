import CofferSQLite
import Foundation

/// A look at who uses a home in slots, which opens nothing.
package enum SlotUsage {
  /// Whether a living handle of any process has the home open whose directory of ours this is.
  package static func isOpen(control: String) -> Bool {
    let owners = control + "/owners"
    let files = (try? FileManager.default.contentsOfDirectory(atPath: owners)) ?? []
    return files.contains { LockFile.isHeld(owners + "/" + $0) }
  }
}
