import CofferTerminal
import Foundation

/// A check for many replaced values that a slot store retains for snapshots. A reader that never ends, or many killed
/// processes, leave them behind.
struct RetainedCheck {
  /// The name of the store in findings.
  let store: String
  /// The path of the store's control directory.
  let control: String

  /// The thresholds, either of which causes a warning. Short-lived snapshots stay far below both.
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
        fix: "End the program that holds a snapshot open; the next commit after that, or the next opening of the "
          + "store, removes them.")
    ]
  }
}
