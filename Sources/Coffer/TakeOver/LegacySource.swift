import CofferCore
import CofferFiles
import CofferSecrets
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
  /// The entries of a property list file, XML or binary. The encoding concerns entries of raw bytes; other types are
  /// kept.
  case propertyList(path: String, encoding: LegacyEncoding = .bytes)
  /// The secrets of a service in the desktop's keyring that other programs have stored under `account`, `username` or
  /// `user`, in the default collection. A locked keyring ends the take-over; the next one continues.
  case keychain(service: String, accessGroup: String? = nil, encoding: LegacyEncoding = .bytes)
  /// The rows of a table in an SQLite database, which is opened for reading only. An index on the key column is needed
  /// for a large table.
  case table(
    path: String, table: String, keyColumn: String, valueColumn: String, encoding: LegacyEncoding = .bytes)

  /// Returns the entries of a suite of `UserDefaults`, or of this program's own for `nil`: the property list in which
  /// Foundation keeps it. A program that has the suite open writes its last changes there when it calls
  /// `synchronize()` or ends.
  /// - Throws: `StorageError` for a suite whose name is no file name, or without a directory for preferences.
  public static func userDefaults(suite: String?, encoding: LegacyEncoding = .bytes) throws -> LegacySource {
    .propertyList(path: try PreferencesInspection.paths(of: suite).path, encoding: encoding)
  }

  /// The path of the directory or file, or the location of the service.
  public var path: String {
    switch self {
    case .files(let path, _), .propertyList(let path, _), .table(let path, _, _, _, _): path
    case .keychain(let service, let group, _): "keychain:\(service)" + (group.map { "@\($0)" } ?? "")
    }
  }

  var encoding: LegacyEncoding {
    switch self {
    case .files(_, let encoding), .propertyList(_, let encoding), .keychain(_, _, let encoding),
      .table(_, _, _, _, let encoding):
      encoding
    }
  }

  /// Whether `removesOriginals` is supported.
  var isRemovable: Bool {
    switch self {
    case .files, .keychain: true
    case .propertyList, .table: false
    }
  }

  func open(limit: Int, keepsPreferenceTypes: Bool) throws -> any LegacyOrigin {
    switch self {
    case .files(let directory, _): try LegacyFiles(directory, limit: limit)
    case .propertyList(let path, let encoding):
      try LegacyPropertyList(path, keepsTypes: keepsPreferenceTypes, isDecoded: encoding == .bytes)
    case .keychain(let service, let group, _): try LegacyKeychain(service: service, accessGroup: group)
    case .table(let path, let table, let keyColumn, let valueColumn, _):
      try LegacyTable(path, table: table, key: keyColumn, value: valueColumn)
    }
  }
}

/// An open source. Methods block, and are called by one caller at a time.
protocol LegacyOrigin: Sendable {
  /// The names of the values, each once.
  var names: [String] { get }
  /// What was found and is no value.
  var ignored: [TakeOver.Report.Entry] { get }

  /// Returns a value, or `nil` if it is gone.
  /// - Throws: ``LegacyFailure`` or `StorageError` if this value cannot be read; `unavailable` if no value can.
  func read(_ name: String) throws -> LegacyOriginal?
  /// Removes originals that have not changed since they were read, and returns for each whether it is removed.
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool]
}

/// A value as it was read from an origin.
struct LegacyOriginal: Sendable {
  let name: String
  /// The bytes as they are in the origin.
  let data: Data
  var attributes = ValueAttributes.none
  /// Whether the bytes are the value, whatever the encoding of the source.
  var isDecoded = false
  /// The item of a keyring.
  var item: KeyringOriginals.Original?
}

extension LegacyOrigin {
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool] { originals.map { _ in false } }
}
