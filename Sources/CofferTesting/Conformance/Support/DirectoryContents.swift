package import Foundation

/// The names, kinds, bytes and modification times of everything in a directory.
package struct DirectoryContents: Equatable, Sendable {
  private struct Item: Equatable, Sendable {
    let mode: UInt32
    let inode: UInt64
    let modified: [Int]
    let bytes: Data?
  }

  /// By the bytes of the names.
  private var items: [Data: Item] = [:]

  /// Reads a directory and its subdirectories; a missing directory is empty.
  package init(of directory: URL) throws {
    let path = directory.path
    guard FileManager.default.fileExists(atPath: path) else { return }
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) + ["."] {
      var status = stat()
      guard lstat(path + "/" + name, &status) == 0 else { continue }  // e.g. a socket that has just been removed
      #if canImport(Darwin)
        let date = status.st_mtimespec
      #else
        let date = status.st_mtim
      #endif
      let isFile = status.st_mode & S_IFMT == S_IFREG
      items[Data(name.utf8)] = Item(
        mode: UInt32(status.st_mode), inode: UInt64(status.st_ino), modified: [Int(date.tv_sec), Int(date.tv_nsec)],
        bytes: isFile ? FileManager.default.contents(atPath: path + "/" + name) : nil)
    }
  }

  /// Returns the sorted names of everything that was added, removed or changed since `before`.
  package func changes(since before: DirectoryContents) -> [String] {
    Set(items.keys).union(before.items.keys).filter { items[$0] != before.items[$0] }
      .map { String(decoding: $0, as: UTF8.self) }.sorted()
  }
}
