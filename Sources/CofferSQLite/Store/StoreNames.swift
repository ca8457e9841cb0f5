import CofferCore
import CofferFileSystem
import Foundation

/// Syncing of the directory entries that lead to a new database: they must survive power loss before a commit may be
/// acknowledged.
///
/// Nothing is created in a directory whose own entry may be lost, whichever process created it: a process that was
/// killed between creating and syncing a directory leaves the sync to the next one.
extension StoreFile {
  /// Syncs the directory entries of a database that was not written to yet, and of its directory.
  func syncNamesIfNew() throws {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size == 0 else { return }
    let directory = PathParts(path).parent
    try Self.sync(directory, location: description)
    try Self.syncName(of: directory, location: description)
  }

  /// Syncs the entry of a directory in its parent, so that it survives power loss.
  static func syncName(of directory: String, location: String) throws {
    guard let canonical = realpath(directory, nil) else {
      throw StorageError.system("realpath", path: directory, errno: errno, location: location)
    }
    defer { free(canonical) }
    try sync(PathParts(String(cString: canonical)).parent, location: location)
  }

  private static func sync(_ directory: String, location: String) throws {
    do { try OpenDirectory.sync(directory) } catch { throw error.locating(at: location) }
  }
}
