import CofferTesting
import Foundation

/// A copy of the files of a store, which can be restored any number of times.
///
/// A store also identifies its files by their inodes, so a restored file keeps its inode: the template has a hard link
/// to it (`inodes`) and a copy of its bytes (`bytes`). Therefore only one sweep at a time may use a template.
package final class SweepFiles {
  private struct File {
    let name: String
    let bytes: Data
    let dates: [timespec]
  }

  private let inodes: String
  private let directories: [String]
  private let files: [File]

  /// Copies the files of a store to which nothing is being written. Retries if files disappear meanwhile, since the
  /// store may still be removing some.
  package static func capture(_ store: String, in directory: String) throws {
    try blockUntil("a copy of \(store)") {
      if (try? captureNow(store, in: directory)) != nil { return true }
      try? FileManager.default.removeItem(atPath: directory)
      return false
    }
  }

  private static func captureNow(_ store: String, in directory: String) throws {
    let (inodes, bytes) = (directory + "/inodes", directory + "/bytes")
    for folder in [directory, inodes, bytes] { try make(folder) }
    var last = ""
    for name in try FileManager.default.subpathsOfDirectory(atPath: store).sorted() where name != last {
      last = name
      let source = store + "/" + name
      guard let status = try status(source) else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        for folder in [inodes, bytes] { try make(folder + "/" + name) }
      } else if status.st_mode & S_IFMT == S_IFREG, !name.hasSuffix("-shm") {
        let dates = [status.st_atim, status.st_mtim]
        let content = try Data(contentsOf: URL(fileURLWithPath: source))
        try write(content, to: bytes + "/" + name, dates)
        guard link(source, inodes + "/" + name) == 0 else { throw TestFailure("link \(source): errno \(errno)") }
      }
    }
  }

  /// Reads the copy that ``capture(_:in:)`` has made.
  package init(in directory: String) throws {
    inodes = directory + "/inodes"
    let bytes = directory + "/bytes"
    var (directories, files): ([String], [File]) = ([], [])
    for name in try FileManager.default.subpathsOfDirectory(atPath: bytes).sorted() {
      guard let status = try Self.status(bytes + "/" + name) else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        directories.append(name)
      } else {
        let content = try Data(contentsOf: URL(fileURLWithPath: bytes + "/" + name))
        files.append(File(name: name, bytes: content, dates: [status.st_atim, status.st_mtim]))
      }
    }
    (self.directories, self.files) = (directories, files)
  }

  /// Restores the files of the store in a directory.
  package func restore(to store: String) throws {
    try Self.make(store)
    for name in directories { try Self.make(store + "/" + name) }
    for file in files {
      try Self.write(file.bytes, to: inodes + "/" + file.name, file.dates)
      guard link(inodes + "/" + file.name, store + "/" + file.name) == 0 else {
        throw TestFailure("link \(file.name): errno \(errno)")
      }
    }
  }

  private static func status(_ path: String) throws -> stat? {
    var status = stat()
    if lstat(path, &status) == 0 { return status }
    guard errno == ENOENT else { throw TestFailure("stat \(path): errno \(errno)") }
    return nil
  }

  private static func make(_ directory: String) throws {
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
      throw TestFailure("mkdir \(directory): errno \(errno)")
    }
  }

  private static func write(_ bytes: Data, to path: String, _ dates: [timespec]) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw TestFailure("open \(path): errno \(errno)") }
    defer { close(file) }
    let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count, ftruncate(file, off_t(count)) == 0, futimens(file, dates) == 0 else {
      throw TestFailure("write \(path): errno \(errno)")
    }
  }
}

/// Creates a temporary directory, in memory if possible, since a sweep creates a store for each injury.
package func sweepDirectory() throws -> String {
  let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
  var template = Array((parent + "/coffer-sweep-XXXXXX").utf8CString)
  guard mkdtemp(&template) != nil else { throw TestFailure("no temporary folder: errno \(errno)") }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
