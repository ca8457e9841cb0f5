public import CofferCore
public import Foundation

extension SQLiteEngine: QuarantiningEngine {
  public func quarantinedValues() async throws -> [QuarantinedValue] {
    try read { try $0.quarantined() }.map { row in
      QuarantinedValue(id: row.id, key: row.key, date: row.date, size: row.size, reason: .damagedValue)
    }
  }

  public func quarantinedBytes(_ id: String) async throws -> Data {
    let bytes = try read { reader -> Data? in
      guard let row = try reader.quarantined().first(where: { $0.id == id }) else { return nil }
      let sql = "SELECT value FROM coffer_quarantine WHERE key = ?1 AND revision = ?2"
      return try reader.statements.query(sql, row.arguments) { $0.blob(0) }.first
    }
    guard let bytes else { throw StorageError.notQuarantined(id, location: description) }
    return bytes
  }

  public func removeQuarantined(_ ids: [String]) async throws {
    let removed = Set(ids)
    let rows = try read { try $0.quarantined() }.filter { removed.contains($0.id) }
    try await perform { committer in
      try committer.housekeep {
        for row in rows {
          let sql = "DELETE FROM coffer_quarantine WHERE key = ?1 AND revision = ?2"
          try committer.statements.execute(sql, row.arguments)
        }
      }
    }
  }

  public func damage(of key: KeyName) async throws -> DamageReport? {
    let store = try openStore()
    try requireNoLoss(store)
    // A revision beyond this one is damaged itself, and a later, intact version may be assigned it.
    let latest = store.latestRevision
    guard let finding = try store.damagedRow(of: key), finding.revision <= latest else { return nil }
    let now = store.clock.now().unixMilliseconds
    try await perform { committer in
      try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
    }
    return DamageReport(
      key: key, revision: finding.revision, size: finding.value.count, location: description, quarantineID: finding.id)
  }

  /// Throws if the store has lost commits: the value that would be replaced may have been replaced by one of them.
  package func requireNoLoss() throws { try requireNoLoss(openStore()) }

  private func requireNoLoss(_ store: SQLiteStore) throws {
    guard let loss = store.loss.withLock({ $0 }) else { return }
    throw StorageError(
      .preconditionFailed, loss.message, advice: "Restore a backup, or accept the loss first.", location: description)
  }

  /// The keys of the versions that an engine over this journal has quarantined elsewhere, by their names there.
  package func quarantinedKeys() throws -> [Data: KeyName] {
    let rows = try read { reader in
      try reader.statements.query("SELECT key, value FROM coffer_quarantine WHERE checksum = -1", []) { row in
        (key: row.blob(0), name: row.blob(1))
      }
    }
    var keys: [Data: KeyName] = [:]
    for row in rows { keys[row.name] = KeyName(bytes: row.key) }
    return keys
  }

  /// Removes the keys of versions that are no longer quarantined.
  package func forgetQuarantined(_ names: [String]) async throws {
    try await perform { committer in
      try committer.housekeep {
        for name in names {
          let sql = "DELETE FROM coffer_quarantine WHERE checksum = -1 AND value = ?1"
          try committer.statements.execute(sql, [.blob(Data(name.utf8))])
        }
      }
    }
  }

  /// Records the key of a version that an engine over this journal has quarantined elsewhere, under `name`.
  package func noteQuarantined(_ name: String, _ key: KeyName, _ revision: StoreRevision) async throws {
    let (finding, now) = (Finding(key, revision, elsewhere: name), clock.now().unixMilliseconds)
    try await perform { committer in
      try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
    }
  }

  /// Does the same in the background.
  package func noteQuarantinedSoon(_ name: String, _ key: KeyName, _ revision: StoreRevision) {
    guard let store = try? openStore() else { return }
    let (finding, now) = (Finding(key, revision, elsewhere: name), store.clock.now().unixMilliseconds)
    store.writer.housekeep { committer in
      try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
    }
  }
}

extension SQLiteEngine: EntryQuarantiningEngine {
  package func quarantine(_ entry: StoreEntry) async throws -> String {
    let finding = Finding(
      key: entry.key, revision: entry.revision, checksum: Int64(checksum(entry.key, entry.value)), value: entry.value)
    let now = clock.now().unixMilliseconds
    try await perform { committer in
      try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
    }
    return finding.id
  }
}

extension Finding {
  /// The note of a version that is in another quarantine. A checksum has 32 bits, so -1 distinguishes it.
  fileprivate init(_ key: KeyName, _ revision: StoreRevision, elsewhere name: String) {
    self.init(key: key, revision: revision, checksum: -1, value: Data(name.utf8))
  }
}

/// A row of the quarantine, without its bytes.
private struct QuarantinedRow {
  let name: Data
  let revision: Int64
  let date: Date
  let size: Int

  var key: KeyName? { KeyName(bytes: name) }
  var arguments: [SQLiteValue] { [.blob(name), .integer(revision)] }

  var id: String { Quarantine.id(key: name, revision: revision) }
}

extension KeyName {
  /// Creates a key of the bytes of a row; `nil` for damaged ones.
  fileprivate init?(bytes: Data) {
    guard let text = String(validating: bytes, as: UTF8.self), let key = try? KeyName(text) else { return nil }
    self = key
  }
}

extension SQLiteStore {
  /// Returns the row of a key if it is damaged, also from a damaged page.
  fileprivate func damagedRow(of key: KeyName) throws -> Finding? {
    do { return try readers.read { try $0.damagedRow(of: key) } } catch {
      _ = try StorageError.damagedPage(error)
      return try salvagingReader().damagedRow(of: key)
    }
  }
}

extension Reader {
  fileprivate func quarantined() throws -> [QuarantinedRow] {
    let sql = """
      SELECT key, revision, found_at, length(value) FROM coffer_quarantine WHERE checksum <> -1
      ORDER BY found_at, revision, key
      """
    return try statements.query(sql, []) { row in
      QuarantinedRow(
        name: row.blob(0), revision: row.integer(1), date: Date(unixMilliseconds: row.integer(2)),
        size: Int(row.integer(3)))
    }
  }
}
