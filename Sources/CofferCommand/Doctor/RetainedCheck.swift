import CofferTerminal
import Foundation

/// Whether a store in slots keeps many replaced values for snapshots: a reader that never ends, or many processes that
/// were killed, leave them.
struct RetainedCheck {
  /// What findings call the store.
  let store: String
  /// The directory beside it.
  let control: String

  /// Above one of these it is said: a snapshot that is as short as it should be stays far below.
  private static let many = (count: 1_000, bytes: 64 << 20)

  func all() -> [Finding] {
    let directory = control + "/retained"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let bytes = names.reduce(0) { sum, name in
      var status = stat()
      return sum + (lstat(directory + "/" + name, &status) == 0 ? Int(status.st_size) : 0)
    }
    guard names.count > Self.many.count || bytes > Self.many.bytes else { return [] }
    return [
      .warning(
        store, "\(counted(names.count, "replaced value")) (\(byteCount(bytes))) are kept for open snapshots.",
        fix: "End the program that has been reading for long; they go with the next commit after that, or when the "
          + "store is opened again.")
    ]
  }
}
