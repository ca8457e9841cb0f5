import CofferCore
import CofferFileSystem

/// Values whose files have names outside the store. A commit replaces a file under the name of its key, and the other
/// names keep the old value.
package enum FileLinks {
  /// Throws `unsupported` if a value's file has other names than those in the control directories.
  /// - Parameter control: the directories in which the store itself may have linked the file: of retained values and of
  ///   the quarantine.
  static func refuse(_ name: String, in values: Directory, at path: String, control: [Directory]) throws {
    let path = path + "/" + name
    let count = HardLinks.count(path)
    guard count > 1, let stamp = try values.stamp(name) else { return }
    let own = try control.reduce(0) { sum, directory in
      try sum + directory.fileNames().count { try directory.stamp($0)?.inode == stamp.inode }
    }
    guard count > 1 + own else { return }
    try HardLinks.refuse(
      path, because: "a commit would replace it under this name, and the others would keep the old value")
  }

  /// Checks all values of a store, for tools that do not open it.
  /// - Throws: `unsupported` for the first value whose file has other names.
  package static func check(_ path: String, location: String) throws {
    let values = try Directory(path, location: location)
    let control = try values.directory(FileSlots.controlName, mayMake: false)
    let own = [
      try control.directory("retained", mayMake: false), try control.directory("quarantine", mayMake: false),
    ]
    for name in try values.fileNames().sorted() where FileName.key(of: name) != nil || FileName.isHashed(name) {
      do { try refuse(name, in: values, at: path, control: own) } catch let error as StorageError {
        throw error.locating(at: location)
      }
    }
  }
}
