import CofferCore
import CofferSQLite
import Foundation

/// A snapshot of a store: the records of a read transaction, and the values that they describe, wherever they are now.
///
/// Without a writer, the values that other programs have added have no records. They are part of the snapshot, too.
final class SlotSnapshot: RecordSnapshot {
  /// The maximum total size of the values in a page, in bytes.
  private static let pageBytes = 16 << 20

  private let records: any StorageSnapshot
  private let store: SlotStore
  /// The sorted keys of the published values, listed once, in a store without a writer.
  private let published = Locked<[KeyName]?>(nil)

  init(_ records: any StorageSnapshot, of store: SlotStore) {
    self.records = records
    self.store = store
  }

  var revision: StoreRevision { records.revision }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let found = try await records.entries(keys)
    guard store.writer != nil else {
      return try await store.reading { [self] in
        try zip(keys, found).map { key, record in try value(record ?? Self.unrecorded(key)) }
      }
    }
    try await proveAbsent(zip(keys, found).filter { $0.1 == nil }.map(\.0))
    return try await store.reading { [self] in try found.map { try $0.flatMap(value) } }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    var date: Date?
    if store.writer != nil {
      guard let summary = try await records.summary(of: key) else {
        try await proveAbsent([key])
        return nil
      }
      if let record = try await recorded([key])[0], record.loss == .none {
        return summary.of(record, keepsSecrets: store.slots.keepsSecrets)
      }
      date = summary.date
    }
    // The newest version is lost, its record is damaged, or only the value proves that it exists: it is read.
    return try await entries([key])[0].map { store.summary(of: $0, date: date) }
  }

  /// Throws if one of the keys without a record has a value that could not be removed. One that another program has
  /// added since is not part of the snapshot.
  private func proveAbsent(_ keys: [KeyName]) async throws {
    let filled = try await store.reading { [store] in
      try keys.filter { key in try store.handle.locating(key) { try store.slots.stamp(.value(key)) } != nil }
    }
    for key in filled where try await store.isStuck(key) { throw store.handle.stillThere(key) }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await page(prefix, after, limit) { [self] in try collect($0) }
  }

  /// Without a writer, reads every value, since nothing else proves that it exists. A damaged one is listed.
  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    guard store.writer != nil else {
      return try await page(prefix, after, limit) { [self] in try $0.compactMap(readSummary) }
    }
    let listed = try await records.summaries(prefix: prefix, after: after, limit: limit)
    var summaries: [StoreEntry.Summary] = []
    for (summary, record) in zip(listed, try await recorded(listed.map(\.key))) {
      summaries.append(summary.of(record, keepsSecrets: store.slots.keepsSecrets))
    }
    return summaries
  }

  func systemRecords() throws -> [SystemRecord.Name: Data] {
    try (records as? any RecordSnapshot)?.systemRecords() ?? [:]
  }

  /// Returns the records of keys in the journal; `nil` for a damaged record, whose value may be intact.
  private func recorded(_ keys: [KeyName]) async throws -> [SlotRecord?] {
    do {
      return try await records.entries(keys).map { try $0.map { try store.handle.recorded($0).record } }
    } catch let error as StorageError where error.code == .damaged && error.key != nil {
      guard keys.count > 1 else { return [nil] }
      var single: [SlotRecord?] = []
      for key in keys { single += try await recorded([key]) }
      return single
    }
  }

  // MARK: Pages

  /// Returns the results of the next rows that have any.
  private func page<R: Sendable>(
    _ prefix: KeyName?, _ after: KeyName?, _ limit: Int, read: @escaping @Sendable ([StoreEntry]) throws -> [R]
  ) async throws -> [R] {
    var last = after
    while true {
      let rows = try await rows(prefix, last, limit)
      guard let end = rows.last else { return [] }
      let found = try await store.reading { try read(rows) }
      // A page whose values were all removed meanwhile is not the last page.
      if !found.isEmpty { return found }
      last = end.key
    }
  }

  /// Returns the next rows of the journal; without a writer, also one for each published key that has none.
  private func rows(_ prefix: KeyName?, _ after: KeyName?, _ limit: Int) async throws -> [StoreEntry] {
    let recorded = try await records.page(prefix: prefix, after: after, limit: limit)
    guard store.writer == nil else { return recorded }
    let published = try await store.reading { [self] in try publishedKeys() }
    let known = Set(recorded.map(\.key))
    var rows = recorded
    var added = 0
    for key in published[published.firstIndex(after: after)...] where prefix.map(key.hasPrefix) ?? true {
      // Keys beyond the last record belong to a later page.
      if added == limit || recorded.last.map({ key > $0.key }) ?? false { break }
      guard !known.contains(key) else { continue }
      rows.append(Self.unrecorded(key))
      added += 1
    }
    return Array(rows.sorted { $0.key < $1.key }.prefix(limit))
  }

  /// A row for a key without a record, told apart by its revision.
  private static func unrecorded(_ key: KeyName) -> StoreEntry { StoreEntry(key: key, value: Data(), revision: .zero) }

  private func publishedKeys() throws -> [KeyName] {
    if let known = published.withLock({ $0 }) { return known }
    do {
      let listed = try store.slots.list().compactMap(\.key).sorted()
      published.withLock { $0 = listed }
      return listed
    } catch let error as StorageError {
      throw error.locating(at: store.description)
    }
  }

  // MARK: Values

  private func collect(_ rows: [StoreEntry]) throws -> [StoreEntry] {
    var entries: [StoreEntry] = []
    var bytes = 0
    for row in rows where bytes < Self.pageBytes {
      do {
        guard let entry = try value(row) else { continue }
        entries.append(entry)
        bytes += entry.value.count
      } catch {
        // Return the entries before a damaged value; the next page throws its error.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  private func readSummary(_ row: StoreEntry) throws -> StoreEntry.Summary? {
    do { return try value(row).map { store.summary(of: $0) } } catch let error as StorageError
      where error.code == .damaged && error.key == row.key
    {
      return StoreEntry.Summary(key: row.key, size: nil, revision: .zero, date: nil, attributes: .none)
    }
  }

  private func value(_ row: StoreEntry) throws -> StoreEntry? {
    let finding =
      row.revision == .zero
      ? try store.resolveUnrecorded(row.key) ?? .absent  // A later commit added it.
      : try store.find(row.key, at: store.handle.recorded(row))
    return try store.entry(finding, of: row.key)
  }
}

extension [KeyName] {
  /// Returns the index of the first of these sorted keys after another, by binary search.
  fileprivate func firstIndex(after key: KeyName?) -> Int {
    guard let key else { return 0 }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] <= key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
