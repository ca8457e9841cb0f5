import CofferCore
import CofferFileSystem
import CofferKeychain
import CofferPreferences
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
  /// The entries of a property list file: XML, binary, or in the old style of NeXTSTEP, whose values are text, bytes
  /// and collections of them. The encoding concerns entries of raw bytes; other types are kept.
  case propertyList(path: String, encoding: LegacyEncoding = .bytes)
  /// The entries of a suite of `UserDefaults`, or of this program's own for `nil`, read from the property list in which
  /// Foundation keeps it, in any form as for ``propertyList(path:encoding:)``. A program that has the suite open writes
  /// its last changes there when it calls `synchronize()` or ends.
  case userDefaults(suite: String?, encoding: LegacyEncoding = .bytes)
  /// The secrets of a service in the desktop's keyring that other programs have stored under `account`, `username` or
  /// `user`, in the default collection. A locked keyring ends the take-over; the next one continues.
  case keychain(service: String, accessGroup: String? = nil, encoding: LegacyEncoding = .bytes)
  /// The rows of a table in an SQLite database, which is opened for reading only. An index on the key column is needed
  /// for a large table.
  case table(
    path: String, table: String, keyColumn: String, valueColumn: String, encoding: LegacyEncoding = .bytes)

  /// The path of the directory or file, or the location of the suite or service.
  public var path: String {
    switch self {
    case .files(let path, _), .propertyList(let path, _), .table(let path, _, _, _, _): path
    case .userDefaults(let suite, _): "prefs:" + (suite ?? "")
    case .keychain(let service, let group, _): "keychain:\(service)" + (group.map { "@\($0)" } ?? "")
    }
  }

  /// The source with the path of the file that a suite has at present.
  /// - Throws: `StorageError` for a suite whose name is no file name, or without a directory for preferences.
  func located() throws -> LegacySource {
    guard case .userDefaults(let suite, let encoding) = self else { return self }
    return .propertyList(path: try PreferencesInspection.paths(of: suite).path, encoding: encoding)
  }

  /// The path of the directory or file, or `nil` if the source is none.
  var filePath: String? {
    switch self {
    case .files, .propertyList, .table: path
    case .userDefaults, .keychain: nil
    }
  }

  /// Whether `removesOriginals` is supported.
  var isRemovable: Bool {
    switch self {
    case .files, .keychain: true
    case .propertyList, .userDefaults, .table: false
    }
  }

  func open(limit: Int, keepsPreferenceTypes: Bool) throws -> any LegacyOrigin {
    switch self {
    case .files(let directory, let encoding):
      return try LegacyFiles(directory, encoding, limit: limit)
    case .propertyList(let path, let encoding):
      return try LegacyPropertyList(path, encoding, keepsTypes: keepsPreferenceTypes)
    case .userDefaults:
      return try located().open(limit: limit, keepsPreferenceTypes: keepsPreferenceTypes)
    case .keychain(let service, let group, let encoding):
      return try LegacyKeychain(service: service, accessGroup: group, encoding)
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
  /// - Throws: ``LegacyFailure`` or `StorageError` if this value cannot be read; `unavailable` if no value can.
  func read(_ name: String) throws -> LegacyOriginal?
  /// Removes originals that have not changed since they were read, and returns for each whether it is removed.
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool]
}

/// A value as it was read from an origin.
struct LegacyOriginal: Sendable {
  let name: String
  var value: LegacyValue
  var stamp: FileStamp?
  /// The SHA-256 of the original's bytes.
  var digest = Data()
  /// The item of a keyring.
  var item: KeyringOriginals.Original?
}

extension LegacyOrigin {
  func remove(_ originals: [LegacyOriginal]) throws -> [Bool] { originals.map { _ in false } }
}
