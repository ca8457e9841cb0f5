import CofferCore
import CofferCrypto
import CofferFileSystem
import CofferFiles
import Foundation

/// The files of a directory.
struct LegacyFiles: LegacyOrigin {
  let names: [String]
  let ignored: [TakeOverReport.Entry]
  private let directory: Directory
  private let path: String
  private let encoding: LegacyEncoding
  private let limit: Int

  /// - Parameter inStore: whether the directory is that of a store: only files that are no values of it are listed.
  init(_ path: String, _ encoding: LegacyEncoding, limit: Int, inStore: Bool = false) throws {
    guard try inStore || !PathParts.exists(path + "/.coffer") else {
      throw StorageError(
        .unsupported, "The source is a store of Coffer.",
        advice: "Copy its values with an engine of that store, or with 'coffer cp'. Nothing was changed.",
        location: path)
    }
    directory = try Directory(path, location: path)
    self.path = path
    self.encoding = encoding
    self.limit = limit
    var ignored: [TakeOverReport.Entry] = []
    let names = try directory.fileNames { name in
      if inStore, name?.hasPrefix(".coffer") == true { return }
      let reason = name == nil ? "its name is not UTF-8" : "it is not a regular file"
      ignored.append(.init(name: name ?? "?", outcome: .skipped(reason: reason)))
    }.sorted()
    self.names = inStore ? names.filter(ForeignFiles.isNoValue) : names
    self.ignored = ignored
  }

  func read(_ name: String) throws -> LegacyOriginal? {
    guard let content = try directory.read(name, limit: limit) else { return nil }
    guard UInt64(content.data.count) == content.stamp.size else {
      throw LegacyFailure(reason: "it changed while it was read")
    }
    if content.data.isEmpty, try Self.hasContent(path + "/" + name) {
      throw LegacyFailure(reason: "its file system reports no size for it, as /proc does")
    }
    return LegacyOriginal(
      name: name, value: try encoding.decode(content.data), stamp: content.stamp, digest: sha256(content.data))
  }

  /// Whether a file whose size is 0 has content, since the system makes it when it is read.
  static func hasContent(_ path: String) throws(LegacyFailure) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard file >= 0 else { return false }  // It is gone since.
    defer { close(file) }
    var (byte, status) = (UInt8(0), stat())
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    let count = Foundation.read(file, &byte, 1)
    guard count >= 0 || errno == EAGAIN else { throw LegacyFailure(reason: "it cannot be read") }
    return count != 0
  }

  func remove(_ originals: [LegacyOriginal]) throws -> [Bool] {
    let removed = originals.map { original in
      do {
        // Two writes of equal size within one tick of the clock have the same stamp.
        guard let now = try directory.read(original.name, limit: limit), now.stamp == original.stamp,
          sha256(now.data) == original.digest
        else { return false }
        try directory.delete(original.name)
        return true
      } catch {
        return false  // The report says that it is still there.
      }
    }
    try directory.sync()
    return removed
  }
}
