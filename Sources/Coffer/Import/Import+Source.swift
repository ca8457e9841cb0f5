import CofferCore
import CofferFileSystem
import CofferFiles
import CofferSecrets
import Foundation

extension Import {
  /// Where the values are that another library or an earlier version of a program has stored.
  ///
  /// The originals are read directly. No symbolic link is followed to a value, and no pipe or device is opened.
  ///
  /// ```swift
  /// let source = Import.Source.files(directory: "/var/lib/app/state", encoding: .json)
  /// ```
  public enum Source: Hashable, Sendable {
    /// The regular files of a directory; the name of a file is the name of its value. Subdirectories are not read.
    case files(directory: String, encoding: Encoding = .bytes)
    /// The entries of a property list file, XML or binary. The encoding concerns entries of raw bytes; other types are
    /// kept.
    case propertyList(path: String, encoding: Encoding = .bytes)
    /// The secrets of a service in the desktop's keyring that other programs have stored under `account`, `username` or
    /// `user`, in the default collection. A locked keyring ends the import; the next one continues.
    case keychain(service: String, accessGroup: String? = nil, encoding: Encoding = .bytes)
    /// The rows of a table in an SQLite database, which is opened for reading only. An index on the key column is
    /// needed for a large table.
    case table(
      path: String, table: String, keyColumn: String, valueColumn: String, encoding: Encoding = .bytes)

    /// The lines of a file, each an object of JSON with a `key` and the value as `text` or `base64`.
    /// `coffer get --json` prints such lines.
    case jsonLines(path: String)

    /// Returns the entries of a suite of `UserDefaults`, or of this program's own for `nil`: the property list in which
    /// Foundation keeps it. A program that has the suite open writes its last changes there when it calls
    /// `synchronize()` or ends.
    /// - Throws: `StorageError` for a suite whose name is no file name, or without a directory for preferences.
    public static func userDefaults(suite: String?, encoding: Encoding = .bytes) throws -> Source {
      .propertyList(path: try PreferencesInspection.paths(of: suite).path, encoding: encoding)
    }

    /// The path of the directory or file, or the location of the service.
    public var path: String {
      switch self {
      case .files(let path, _), .propertyList(let path, _), .table(let path, _, _, _, _), .jsonLines(let path): path
      case .keychain(let service, let group, _): "keychain:\(service)" + (group.map { "@\($0)" } ?? "")
      }
    }

    var encoding: Encoding {
      switch self {
      case .files(_, let encoding), .propertyList(_, let encoding), .keychain(_, _, let encoding),
        .table(_, _, _, _, let encoding):
        encoding
      case .jsonLines: .bytes
      }
    }

    /// Whether `removesOriginals` is supported.
    var isRemovable: Bool {
      switch self {
      case .files, .keychain: true
      case .propertyList, .table, .jsonLines: false
      }
    }

    func open(limit: Int, keepsPreferenceTypes: Bool) throws -> any ImportOrigin {
      switch self {
      case .files(let directory, _): try FilesOrigin(directory, limit: limit)
      case .propertyList(let path, let encoding):
        try PropertyListOrigin(path, keepsTypes: keepsPreferenceTypes, isDecoded: encoding == .bytes)
      case .keychain(let service, let group, _): try KeychainOrigin(service: service, accessGroup: group)
      case .table(let path, let table, let keyColumn, let valueColumn, _):
        try TableOrigin(path, table: table, key: keyColumn, value: valueColumn)
      case .jsonLines(let path): try JSONLinesOrigin(path)
      }
    }
  }
}

/// An open source. Methods block, and are called by one caller at a time.
protocol ImportOrigin: Sendable {
  /// The names of the values, each once.
  var names: [String] { get }
  /// What was found and is no value.
  var ignored: [Import.Report.Entry] { get }

  /// Returns a value, or `nil` if it is gone.
  /// - Throws: ``ImportFailure`` or `StorageError` if this value cannot be read; `unavailable` if no value can.
  func read(_ name: String) throws -> ImportedOriginal?
  /// Removes originals that have not changed since they were read, and returns for each whether it is removed.
  func remove(_ originals: [ImportedOriginal]) throws -> [Bool]
}

/// Returns the content of a regular file of at most 256 MiB, all of which is in memory.
func importedFile(_ path: String) throws -> Data {
  let parts = PathParts(path)
  guard let name = parts.names.last,
    let file = try Directory(parts.parent, location: path).read(name, limit: 256 << 20)
  else {
    throw StorageError(
      .notFound, "There is no file at this path.", advice: "Check the path. Nothing was changed.", location: path)
  }
  return file.data
}

/// A value as it was read from an origin.
struct ImportedOriginal: Sendable {
  let name: String
  /// The bytes as they are in the origin.
  let data: Data
  var attributes = ValueAttributes.none
  /// Whether the bytes are the value, whatever the encoding of the source.
  var isDecoded = false
  /// The item of a keyring.
  var item: KeyringOriginals.Original?
}

extension ImportOrigin {
  func remove(_ originals: [ImportedOriginal]) throws -> [Bool] { originals.map { _ in false } }
}
