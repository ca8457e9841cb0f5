import CofferCore
import CofferFileSystem
import Foundation

/// The names of a store's files. SQLite finds the log by the name of the database, so a database with two names has two
/// logs, and neither has the commits of the other.
extension StoreFile {
  /// Throws `unsupported` if one of the store's files has several names.
  /// - Parameter isForReading: whether a database without a log, such as a backup, may have several.
  func requireSingleNames(isForReading: Bool) throws {
    let consequence = "each name has a log of its own, and the commits of one are lost for the others"
    for path in [path, logPath, sharedMemoryPath, wakePath] where HardLinks.count(path) > 1 {
      if isForReading, path == self.path, try !mayHaveLog { continue }
      try HardLinks.refuse(path, because: consequence, location: description)
    }
  }

  /// Whether commits may be in a log: one beside this name has content, or a process uses the database, whose log may
  /// be beside another name.
  private var mayHaveLog: Bool {
    get throws { try (size(of: logPath) ?? 0) > 0 || LockHolder.isUsed(self) == true }
  }

  /// Throws what opening a store would throw because of the names of its files: an existing database that has several,
  /// or a missing one that left a log. Opens and changes nothing.
  package static func checkNames(at path: String, location: String) throws {
    let file = StoreFile(path: path, busyTimeout: 0, name: location)
    if access(path, F_OK) == 0 { try file.requireSingleNames(isForReading: false) } else { try file.checkLeftovers() }
  }
}
