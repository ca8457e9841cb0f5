import CofferCore
import CofferCrypto
import CofferFileSystem
import Foundation

/// Where the values are that another library or an earlier version of a program has stored.
///
/// The originals are read directly. No symbolic link is followed to a value, and no pipe or device is opened.
///
/// ```swift
/// let source = LegacySource.files(directory: "/var/lib/app/state", encoding: .json)
/// ```
public enum LegacySource: Hashable, Sendable {
  /// The regular files of a directory; the name of a file is the name of its value. Subdirectories are not read.
  case files(directory: String, encoding: LegacyEncoding = .bytes)
  /// The entries of a property list file, XML or binary, such as that of a `UserDefaults` suite. The encoding concerns
  /// entries of raw bytes; other types are kept.
  case propertyList(path: String, encoding: LegacyEncoding = .bytes)
  /// The rows of a table in an SQLite database, which is opened for reading only. An index on the key column is needed
  /// for a large table.
  case table(
    path: String, table: String, keyColumn: String, valueColumn: String, encoding: LegacyEncoding = .bytes)

  /// The path of the directory or file.
  public var path: String {
    switch self {
    case .files(let path, _), .propertyList(let path, _), .table(let path, _, _, _, _): path
    }
  }

  /// Whether `removesOriginals` is supported.
  var isRemovable: Bool { if case .files = self { true } else { false } }

  func open(limit: Int, keepsPreferenceTypes: Bool) throws -> any LegacyOrigin {
    switch self {
    case .files(let directory, let encoding):
      return try LegacyFiles(directory, encoding, limit: limit)
    case .propertyList(let path, let encoding):
      return try LegacyPropertyList(path, encoding, keepsTypes: keepsPreferenceTypes)
    case .table(let path, let table, let keyColumn, let valueColumn, let encoding):
      return try LegacyTable(path, table: table, key: keyColumn, value: valueColumn, encoding)
    }
  }
}

/// An open source. Methods block, and are called by one caller at a time.
protocol LegacyOrigin: Sendable {
  /// The names of the values, each once.
  var names: [String] { get }
  /// What was found and is no value.
  var ignored: [TakeOverReport.Entry] { get }

  /// Returns a value, or `nil` if it is gone.
  /// - Throws: ``LegacyFailure`` or `StorageError` if this value cannot be read.
  func read(_ name: String) throws -> LegacyOriginal?
  /// Removes originals that have not changed since they were read, and returns for each whether it is removed.
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool]
}

/// A value as it was read from an origin.
struct LegacyOriginal: Sendable {
  let name: String
  let value: LegacyValue
  var stamp: FileStamp?
  /// The SHA-256 of the original's bytes.
  var digest = Data()
}

extension LegacyOrigin {
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool] { originals.map { _ in false } }
}

/// The files of a directory.
struct LegacyFiles: LegacyOrigin {
  let names: [String]
  let ignored: [TakeOverReport.Entry]
  private let directory: Directory
  private let encoding: LegacyEncoding
  private let limit: Int

  init(_ path: String, _ encoding: LegacyEncoding, limit: Int) throws {
    guard try !PathParts.exists(path + "/.coffer") else {
      throw StorageError(
        .unsupported, "The source is a store of Coffer.",
        advice: "Copy its values with an engine of that store, or with 'coffer cp'. Nothing was changed.",
        location: path)
    }
    directory = try Directory(path, location: path)
    self.encoding = encoding
    self.limit = limit
    var ignored: [TakeOverReport.Entry] = []
    names = try directory.fileNames { name in
      let reason = name == nil ? "its name is not UTF-8" : "it is not a regular file"
      ignored.append(.init(name: name ?? "?", outcome: .skipped(reason: reason)))
    }.sorted()
    self.ignored = ignored
  }

  func read(_ name: String) throws -> LegacyOriginal? {
    guard let content = try directory.read(name, limit: limit) else { return nil }
    guard UInt64(content.data.count) == content.stamp.size else {
      throw LegacyFailure(reason: "it changed while it was read")
    }
    return LegacyOriginal(
      name: name, value: try encoding.decode(content.data), stamp: content.stamp, digest: sha256(content.data))
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
