import CofferCore
import CofferFileSystem
import Foundation

/// The files of a directory.
struct FilesOrigin: ImportOrigin {
  let names: [String]
  let ignored: [Import.Report.Entry]
  private let directory: Directory
  private let limit: Int

  init(_ path: String, limit: Int) throws {
    guard try !PathParts.exists(path + "/.coffer") else {
      throw StorageError(
        .unsupported, "The source is a store of Coffer.",
        advice: "Copy its values with an engine of that store, or with 'coffer cp'. Nothing was changed.",
        location: path)
    }
    directory = try Directory(path, location: path)
    self.limit = limit
    var ignored: [Import.Report.Entry] = []
    names = try directory.fileNames { name in
      let reason = name == nil ? "its name is not UTF-8" : "it is not a regular file"
      ignored.append(.init(name: name ?? "?", outcome: .skipped(reason: reason)))
    }.sorted()
    self.ignored = ignored
  }

  func read(_ name: String) throws -> ImportedOriginal? {
    guard let content = try directory.read(name, limit: limit) else { return nil }
    guard UInt64(content.data.count) == content.stamp.size else {
      throw ImportFailure(reason: "it changed while it was read")
    }
    return ImportedOriginal(name: name, data: content.data)
  }

  func remove(_ originals: [ImportedOriginal]) throws -> [Bool] {
    let removed = originals.map { original in
      // The report says of a file that cannot be read or deleted that it is still there.
      guard let now = try? directory.read(original.name, limit: limit), now.data == original.data else { return false }
      return (try? directory.delete(original.name)) != nil
    }
    try directory.sync()
    return removed
  }
}
