package import CofferCore
import Foundation

extension StorageError {
  /// Translates the `errno` of a file or directory that could not be created: names the directory that cannot hold it.
  package static func creation(_ call: String, path: String, errno code: Int32, location: String = "") -> StorageError {
    var error = fileSystem(call, path: path, errno: code, location: location)
    let directory = nearestDirectory(above: path).escapingControlCharacters
    switch code {
    case ENOENT, EOPNOTSUPP, ENOSYS, EINVAL:
      error = StorageError(
        .inputOutput, "\(directory) cannot hold a store: its file system accepts no new files.",
        advice: "Choose another directory. Nothing was changed.", location: location, underlying: error.underlying)
    case EROFS:
      error = StorageError(
        .permissionDenied, "\(directory) is on a file system that is mounted read-only.",
        advice: "Choose another directory, or mount it for writing. Nothing was changed.", location: location,
        underlying: error.underlying)
    case EACCES, EPERM:
      error = StorageError(
        .permissionDenied, "This user may not create files in \(directory).",
        advice: "Give this user the right to write there, or choose another directory. Nothing was changed.",
        location: location, underlying: error.underlying)
    default: break
    }
    return error
  }

  /// Returns the nearest existing ancestor of a path.
  private static func nearestDirectory(above path: String) -> String {
    var directory = PathParts(path).parent
    var status = stat()
    while lstat(directory, &status) != 0, PathParts(directory).parent != directory {
      directory = PathParts(directory).parent
    }
    return directory
  }
}
