import CofferCore
import Foundation

extension PostgreSQLStore {
  // MARK: Reads of their own

  /// Reads rows by a statement that returns head and epoch first, again if the history turns out to have lost commits.
  private func read(_ call: ServerCall) async throws -> ServerRows {
    while true {
      let known = latestPosition
      let rows: ServerRows
      do { rows = try await database.read(call) } catch let error as StorageError {
        throw error.locating(at: location)
      }
      guard rows.count > 0 else { throw StorageError.storeIsGone(location) }
      let (head, epoch) = (StoreRevision(head: rows.int8(0, 0)), UInt64(bitPattern: rows.int8(0, 1)))
      if try await agree(head: head, epoch: epoch, knownBefore: known) { return rows }
      try Task.checkCancellation()
    }
  }

  /// Returns the entry of a key, even if it has expired.
  func entry(_ key: KeyName) async throws -> StoreEntry? {
    let values: [ServerValue] = [.int8(id), .bool(false), .bytes(key.data)]
    let rows = try await read(ServerCall(ReadStatements.row, values))
    return try rows.isNull(0, 2) ? nil : entry(key, StoredRow(rows, 0, from: 2))
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    guard !keys.isEmpty else { return [] }
    return try entries(keys, from: try await read(ServerCall(ReadStatements.rows, rows(keys))))
  }

  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    let values: [ServerValue] = [.int8(id), .bool(true), .bytes(name.key.data)]
    let rows = try await read(ServerCall(ReadStatements.row, values))
    guard !rows.isNull(0, 2) else { return nil }
    let row = StoredRow(rows, 0, from: 2)
    guard row.isWhole(RowName(isRecord: true, key: name.key), store: id), let content = row.value else {
      throw StorageError(
        .damaged, "The system record '\(name)' is damaged.", advice: "Restore a backup of the database.",
        location: location)
    }
    return SystemRecord(content: content, revision: row.revision)
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    let call = ServerCall(ReadStatements.summary, [.int8(id), .bytes(key.data)])
    return summary(of: key, from: try await read(call))
  }

  // MARK: Parameters

  /// The parameters of ``ReadStatements/rows`` for values.
  func rows(_ keys: [KeyName]) -> [ServerValue] { [.int8(id), .bool(false), .bytesArray(keys.map(\.data))] }

  /// The parameters of a page.
  func range(_ prefix: KeyName?, _ after: KeyName?, _ limit: Int) -> [ServerValue] {
    let isAfter = after.map { after in prefix.map { after >= $0 } ?? true } ?? false
    let lower = (isAfter ? after : prefix)?.data ?? Data()
    let upper: ServerValue = prefix.map { .bytes(Data($0.successor)) } ?? .null
    return [.int8(id), .bytes(lower), .bool(!isAfter), upper, .int8(Int64(limit))]
  }

  // MARK: Results

  /// Returns the entry of a row.
  /// - Throws: `damaged` if its checksum does not match.
  func entry(_ key: KeyName, _ row: StoredRow) throws -> StoreEntry {
    guard row.isWhole(RowName(isRecord: false, key: key), store: id), let value = row.value,
      let attributes = row.attributes
    else {
      report(Finding(key: key, revision: row.revision, checksum: row.checksum, value: row.value ?? Data()))
      throw StorageError(
        .damaged, "The value is damaged: its bytes are not those that were written.",
        advice: "Its bytes are kept in the quarantine. Other values are unaffected. Write it again, or restore it.",
        location: location, key: key)
    }
    return StoreEntry(key: key, value: value, revision: row.revision, attributes: attributes)
  }

  /// Returns the entries of rows of ``ReadStatements/rows``, in the order of the keys.
  func entries(_ keys: [KeyName], from rows: ServerRows) throws -> [StoreEntry?] {
    guard rows.count > 0 else { throw StorageError.storeIsGone(location) }
    var found: [KeyName: StoreEntry] = [:]
    for index in 0..<rows.count where !rows.isNull(index, 2) {
      let key = try key(rows.data(index, 2))
      found[key] = try entry(key, StoredRow(rows, index, from: 3))
    }
    return keys.map { found[$0] }
  }

  /// Returns the summary of a row of ``ReadStatements/summary``; `nil` if there is no value.
  func summary(of key: KeyName, from rows: ServerRows) -> StoreEntry.Summary? {
    rows.isNull(0, 2) ? nil : summary(key, rows, 0, from: 3)
  }

  /// Returns the summary of a row whose columns begin at `column`.
  func summary(_ key: KeyName, _ rows: ServerRows, _ row: Int, from column: Int) -> StoreEntry.Summary {
    let encoded = rows.isNull(row, column + 1) ? Data() : rows.data(row, column + 1)
    let date = rows.isNull(row, column + 3) ? nil : Date(unixMilliseconds: rows.int8(row, column + 3))
    return StoreEntry.Summary(
      key: key, size: Int(rows.int8(row, column + 2)), revision: StoreRevision(row: rows.int8(row, column)),
      date: date, attributes: ValueAttributes(encoded: encoded) ?? .none)
  }

  /// Returns the key of a row.
  /// - Throws: `damaged` if its bytes are no key.
  func key(_ bytes: Data) throws -> KeyName {
    guard let key = KeyName(data: bytes) else {
      throw StorageError(
        .damaged, "The store has a row whose key is damaged.",
        advice: "Restore a backup of the database; values with other keys can be read.", location: location)
    }
    return key
  }
}
