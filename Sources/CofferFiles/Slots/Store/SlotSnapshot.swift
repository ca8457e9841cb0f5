import CofferCore
import CofferSQLite
import Foundation

/// A snapshot of a store: the records of a read transaction, and the values that they describe, wherever they are now.
final class SlotSnapshot: RecordSnapshot {
  /// The maximum total size of the values in a page, in bytes.
  private static let pageBytes = 16 << 20

  private let records: any StorageSnapshot
  private let handle: SlotHandle
  private let journal: SQLiteEngine
  private let quarantine: SlotQuarantine
  private let queue: DispatchQueue
  private let isStuck: @Sendable (KeyName) async throws -> Bool

  /// - Parameter isStuck: returns whether a value still exists although its removal was committed.
  init(
    _ records: any StorageSnapshot, handle: SlotHandle, journal: SQLiteEngine, quarantine: SlotQuarantine,
    queue: DispatchQueue, isStuck: @escaping @Sendable (KeyName) async throws -> Bool
  ) {
    self.isStuck = isStuck
    self.records = records
    self.handle = handle
    self.journal = journal
    self.quarantine = quarantine
    self.queue = queue
  }

  var revision: StoreRevision { records.revision }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let found = try await records.entries(keys)
    try await proveAbsent(zip(keys, found).filter { $0.1 == nil }.map(\.0))
    return try await reading { [self] in try found.map { try $0.flatMap(value) } }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try await records.summary(of: key) else {
      try await proveAbsent([key])
      return nil
    }
    if let record = try await recorded([key])[0], record.loss == .none {
      return summary.of(record, keepsSecrets: handle.slots.keepsSecrets)
    }
    // The newest version is lost, or its record is damaged: reading the value throws the error.
    guard let entry = try await entries([key])[0] else { return nil }
    return StoreEntry.Summary(
      key: key, size: handle.slots.keepsSecrets ? nil : entry.value.count, revision: entry.revision,
      date: summary.date, attributes: entry.attributes)
  }

  /// Throws if one of the keys without a record has a value that could not be removed. One that another program has
  /// added since is not part of the snapshot.
  private func proveAbsent(_ keys: [KeyName]) async throws {
    let filled = try await reading { [handle] in
      try keys.filter { key in try handle.locating(key) { try handle.slots.stamp(.value(key)) } != nil }
    }
    for key in filled where try await isStuck(key) { throw handle.stillThere(key) }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    var last = after
    while true {
      let found = try await records.page(prefix: prefix, after: last, limit: limit)
      guard let end = found.last else { return [] }
      let entries = try await reading { [self] in try collect(found) }
      // A page whose values were all removed meanwhile is not the last page.
      if !entries.isEmpty { return entries }
      last = end.key
    }
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    let listed = try await records.summaries(prefix: prefix, after: after, limit: limit)
    var summaries: [StoreEntry.Summary] = []
    for (summary, record) in zip(listed, try await recorded(listed.map(\.key))) {
      summaries.append(summary.of(record, keepsSecrets: handle.slots.keepsSecrets))
    }
    return summaries
  }

  func systemRecords() throws -> [SystemRecord.Name: Data] {
    try (records as? any RecordSnapshot)?.systemRecords() ?? [:]
  }

  /// Returns the records of keys in the journal; `nil` for a damaged record, whose value may be intact.
  private func recorded(_ keys: [KeyName]) async throws -> [SlotRecord?] {
    do {
      return try await records.entries(keys).map { try $0.map { try handle.recorded($0).record } }
    } catch let error as StorageError where error.code == .damaged && error.key != nil {
      guard keys.count > 1 else { return [nil] }
      var single: [SlotRecord?] = []
      for key in keys { single += try await recorded([key]) }
      return single
    }
  }

  /// Reads from the store, on a dispatch queue if reads can block.
  private func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard handle.slots.readsBlock else { return try body() }
    return try await queue.run(body)
  }

  private func collect(_ records: [StoreEntry]) throws -> [StoreEntry] {
    var entries: [StoreEntry] = []
    var bytes = 0
    for record in records where bytes < Self.pageBytes {
      do {
        guard let entry = try value(record) else { continue }
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

  private func value(_ entry: StoreEntry) throws -> StoreEntry? {
    let recorded = try handle.recorded(entry)
    return try handle.find(entry.key, at: recorded, journal, quarantine)
  }
}
