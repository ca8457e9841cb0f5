package import CofferCore
import Foundation

extension PathParts {
  /// Whether there is anything at a path, following symbolic links.
  ///
  /// `false` is proof of absence: the nearest directory above that exists was searched and has no such name. Linear in
  /// the number of the missing names.
  /// - Throws: What keeps the path from being looked at: `permissionDenied`; `notAStore` for a symbolic link on the way
  ///   that leads nowhere, since what it leads to may be a disk that is not mounted; `inputOutput` for a name that is
  ///   too long, a file in the place of a directory, or a device that fails.
  package static func exists(_ path: String) throws(StorageError) -> Bool {
    var status = stat()
    guard stat(path, &status) != 0 else { return true }
    guard errno == ENOENT else { throw .fileSystem("stat", path: path, errno: errno) }
    var place = path
    while true {
      if lstat(place, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFLNK else { return place == path }
        // Somebody may have made what it leads to meanwhile.
        guard stat(place, &status) == 0 else { throw danglingLink(place, errno) }
        return place == path
      }
      guard errno == ENOENT else { throw .fileSystem("lstat", path: place, errno: errno) }
      let parent = PathParts(place).parent
      guard parent != place else { return false }
      place = parent
    }
  }

  /// What to say of a symbolic link whose target cannot be reached.
  static func danglingLink(_ path: String, _ code: Int32) -> StorageError {
    StorageError(
      .notAStore, "\(path.escapingControlCharacters) is a symbolic link that leads nowhere.",
      advice: "Mount what it leads to. Move it away to begin anew. Nothing was changed.",
      underlying: StorageError.fileSystem("stat", path: path, errno: code).underlying)
  }
}
