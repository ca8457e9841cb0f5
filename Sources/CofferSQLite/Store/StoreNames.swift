import CofferCore
import CofferFileSystem
import Foundation

/// The names that lead to a new database: a commit must not be acknowledged before they would survive power loss, too.
///
/// Nothing is made in a directory whose own name may be lost, whoever has made it: a process that was killed between
/// making and syncing one leaves that to the next.
extension StorePlace {
  /// Makes the names of a database survive that nobody has written to yet, and of its directory.
  func syncNamesIfNew() throws {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size == 0 else { return }
    let directory = PathParts(path).parent
    try Self.sync(directory, backend: description)
    try Self.syncName(of: directory, backend: description)
  }

  /// Makes the name of a directory survive power loss.
  static func syncName(of directory: String, backend: String) throws {
    guard let canonical = realpath(directory, nil) else {
      throw StorageError.system("realpath", path: directory, errno: errno, backend: backend)
    }
    defer { free(canonical) }
    try sync(PathParts(String(cString: canonical)).parent, backend: backend)
  }

  private static func sync(_ directory: String, backend: String) throws {
    do { try OpenDirectory.sync(directory) } catch { throw error.locating(backend: backend) }
  }
}
