package import CofferCore
import Foundation

extension PathParts {
  /// Returns whether a path exists, following symbolic links.
  ///
  /// `false` is proof of absence: the nearest existing parent directory was searched and has no such name. Linear in
  /// the number of missing names.
  /// - Throws: `StorageError` if the path cannot be examined: `permissionDenied`; `notAStore` for a dangling symbolic
  ///   link on the way, whose target may be on a disk that is not mounted; `inputOutput` for a name that is too long, a
  ///   file where a directory is expected, or a failing device.
  package static func exists(_ path: String) throws(StorageError) -> Bool {
    var status = stat()
    guard stat(path, &status) != 0 else { return true }
    guard errno == ENOENT else { throw .fileSystem("stat", path: path, errno: errno) }
    var current = path
    while true {
      if lstat(current, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFLNK else { return current == path }
        // Its target may have been created meanwhile.
        guard stat(current, &status) == 0 else { throw danglingLink(current, errno) }
        return current == path
      }
      guard errno == ENOENT else { throw .fileSystem("lstat", path: current, errno: errno) }
      let parent = PathParts(current).parent
      guard parent != current else { return false }
      current = parent
    }
  }

  /// The error for a symbolic link whose target cannot be reached.
  static func danglingLink(_ path: String, _ code: Int32) -> StorageError {
    StorageError(
      .notAStore, "\(path.escapingControlCharacters) is a symbolic link that leads nowhere.",
      advice: "Mount its target, or move the link away to start with an empty store. Nothing was changed.",
      underlying: StorageError.fileSystem("stat", path: path, errno: code).underlying)
  }
}
