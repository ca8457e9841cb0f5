import CofferSQLite
import Foundation

/// The use of a store in slots, determined without opening it.
package enum SlotOwners {
  /// Returns whether any process has the store with this control directory open.
  package static func isOpen(control: String) -> Bool {
    let owners = control + "/owners"
    let files = (try? FileManager.default.contentsOfDirectory(atPath: owners)) ?? []
    return files.contains { LockFile.isHeld(owners + "/" + $0) }
  }
}
