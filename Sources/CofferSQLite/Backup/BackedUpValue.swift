package import CofferCore
package import Foundation

/// The value of a key in a backup.
package struct BackedUpValue: Sendable {
  /// The value with its attributes, intact according to its checksum.
  package let entry: StoreEntry
  /// The date of the newest commit in the backup.
  package let date: Date
}

extension SQLiteEngine {
  /// Returns the value of a key in a backup of this store, or of the store that this one is the journal of.
  ///
  /// Only the value is verified, not the rest of the backup. Nothing is written beside it.
  /// - Returns: `nil` if the value is proven absent or has expired.
  /// - Throws: `StorageError`: `notFound`, `notAStore`, `newerFormat` or `damaged` for the backup; `preconditionFailed`
  ///   if it is a backup of another store.
  package func value(of key: KeyName, inBackup path: String) async throws -> BackedUpValue? {
    let identity = try read { try $0.identity() }
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    configuration.access = .readOnly
    configuration.clock = clock
    let backup = try await SQLiteEngine.open(at: path, configuration: configuration)
    do {
      let found = try await backup.value(of: key, ofStore: identity)
      try await backup.close()
      return found
    } catch {
      try? await backup.close()
      throw error
    }
  }

  private func value(of key: KeyName, ofStore identity: String?) async throws -> BackedUpValue? {
    guard let identity, try read({ try $0.identity() }) == identity else {
      throw StorageError(
        .preconditionFailed, "The file is a backup of another store.",
        advice: "Give a backup of this store. One made before its journal was lost and rebuilt counts as another's.",
        location: description)
    }
    guard let entry = try await entry(key) else { return nil }
    return BackedUpValue(entry: entry, date: try read { try $0.newestDate() } ?? .distantPast)
  }
}

extension Reader {
  /// The random name that a store receives when it is created, and that its backups share.
  func identity() throws -> String? {
    try statements.query("SELECT value FROM coffer_meta WHERE name = 'store'", []) { $0.text(0) }.first
  }

  fileprivate func newestDate() throws -> Date? {
    try statements.query("SELECT committed_at FROM coffer_journal ORDER BY revision DESC LIMIT 1", []) {
      Date(unixMilliseconds: $0.integer(0))
    }.first
  }
}
