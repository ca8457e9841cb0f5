public import CofferCore
public import Foundation

extension PostgreSQLEngine: QuarantiningEngine {
  public func quarantinedValues() async throws -> [QuarantinedValue] {
    try await quarantine(in: openStore()).map { row in
      QuarantinedValue(id: row.id, key: KeyName(data: row.name), date: row.date, size: row.size, reason: .damagedValue)
    }
  }

  public func quarantinedBytes(_ id: String) async throws -> Data {
    let store = try openStore()
    guard let row = try await quarantine(in: store).first(where: { $0.id == id }) else {
      throw StorageError.notQuarantined(id, location: description)
    }
    let rows = try await store.database.read(
      ServerCall(QuarantineStatements.bytes, [.int8(store.id), .bytes(row.name), .int8(row.revision)]))
    guard rows.count == 1 else { throw StorageError.notQuarantined(id, location: description) }
    return rows.data(0, 0)
  }

  public func removeQuarantined(_ ids: [String]) async throws {
    let store = try openWritableStore()
    let removed = Set(ids)
    let rows = try await quarantine(in: store).filter { removed.contains($0.id) }
    guard !rows.isEmpty else { return }
    try await store.transact(
      rows.map {
        ServerCall(QuarantineStatements.remove, [.int8(store.id), .bytes($0.name), .int8($0.revision)])
      })
  }

  public func damage(of key: KeyName) async throws -> DamageReport? {
    let store = try openStore()
    let rows = try await store.database.read(
      ServerCall(ReadStatements.row, [.int8(store.id), .bool(false), .bytes(key.data)]))
    guard !rows.isNull(0, 2) else { return nil }
    let row = StoredRow(rows, 0, from: 2)
    guard !row.isWhole(RowName(isRecord: false, key: key), store: store.id) || row.attributes == nil else { return nil }
    let finding = Finding(key: key, revision: row.revision, checksum: row.checksum, value: row.value ?? Data())
    if !isReadOnly { try await store.keep(finding) }
    return finding.report(at: description)
  }

  private func quarantine(in store: PostgreSQLStore) async throws -> [QuarantinedRow] {
    let rows = try await store.database.read(ServerCall(QuarantineStatements.list, [.int8(store.id)]))
    return (0..<rows.count).map { index in
      QuarantinedRow(
        name: rows.data(index, 0), revision: rows.int8(index, 1),
        date: Date(unixMilliseconds: rows.int8(index, 2)), size: Int(rows.int8(index, 3)))
    }
  }
}

extension PostgreSQLEngine: EntryQuarantiningEngine {
  package func quarantine(_ entry: StoreEntry) async throws -> String {
    let store = try openWritableStore()
    let finding = Finding(
      key: entry.key, revision: entry.revision,
      checksum: RowChecksum.content(
        store: store.id, isRecord: false, entry.key, entry.value, entry.attributes.encoded),
      value: entry.value)
    try await store.keep(finding)
    return finding.id
  }
}

/// A row of the quarantine, without its bytes.
private struct QuarantinedRow {
  let name: Data
  let revision: Int64
  let date: Date
  let size: Int

  var id: String { Finding.id(name, StoreRevision(row: revision)) }
}
