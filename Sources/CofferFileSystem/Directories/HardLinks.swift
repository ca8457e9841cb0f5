package import CofferCore
import Foundation

/// Files with several names, which are hard links to each other.
package enum HardLinks {
  /// Returns the number of names of a regular file, or 0 if there is none at the path.
  package static func count(_ path: String) -> Int {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
    return Int(status.st_nlink)
  }

  /// Throws `unsupported` if a file has several names.
  /// - Parameter consequence: what a write would do, as the end of a sentence.
  package static func refuse(_ path: String, because consequence: String, location: String = "") throws(StorageError) {
    let count = count(path)
    if count > 1 { throw error(path, count, consequence, location) }
  }

  /// Throws `unsupported` if the one file of a store has several names: a commit replaces it under one of them.
  package static func refuseReplaced(_ path: String, location: String = "") throws(StorageError) {
    try refuse(
      path, because: "a commit would replace it under this name, and the others would keep the old values",
      location: location)
  }

  /// Returns the error for a file that has `count` names.
  static func error(_ path: String, _ count: Int, _ consequence: String, _ location: String) -> StorageError {
    StorageError(
      .unsupported,
      "The file \(path.escapingControlCharacters) has \(count) names (hard links): \(consequence).",
      advice:
        "Close the store everywhere, keep the name that has a -wal file beside it, else any, and remove the others "
        + "('find -xdev -samefile' lists them). A symbolic link can replace them. Nothing was changed.",
      location: location)
  }
}
