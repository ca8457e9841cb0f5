import CofferCore
import CofferSQLite
import Foundation

/// One state of a home: the records of a read transaction, and the values where they were or where they are kept.
final class SlotSnapshot: RecordSnapshot {
  /// How many bytes of values a page holds at most, so that a page of large values stays small.
  private static let pageBytes = 16 << 20

  private let records: any StorageSnapshot
  private let home: SlotHome
  private let journal: SQLiteEngine
  private let quarantine: SlotQuarantine
  private let queue: DispatchQueue
  private let isStuck: @Sendable (StoreKey) async throws -> Bool

  /// - Parameter isStuck: tells whether a value is still in its place although its removal was committed.
  init(
    _ records: any StorageSnapshot, home: SlotHome, journal: SQLiteEngine, quarantine: SlotQuarantine,
    queue: DispatchQueue, isStuck: @escaping @Sendable (StoreKey) async throws -> Bool
  ) {
    self.isStuck = isStuck
    self.records = records
    self.home = home
    self.journal = journal
    self.quarantine = quarantine
    self.queue = queue
  }

  var revision: StoreRevision { records.revision }

  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    let found = try await records.entries(keys)
    // What was added by others meanwhile is not in this state; what could not be removed is not absent.
    let absent = zip(keys, found).filter { $0.1 == nil }.map(\.0)
    let filled = try await reading { [home] in
      try absent.filter { key in try home.locating(key) { try home.slots.stamp(.value(key)) } != nil }
    }
    for key in filled where try await isStuck(key) { throw home.stillThere(key) }
    return try await reading { [self] in try found.map { try $0.flatMap(value) } }
  }

  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    var last = after
    while true {
      let found = try await records.page(prefix: prefix, after: last, limit: limit)
      guard let end = found.last else { return [] }
      let entries = try await reading { [self] in try collect(found) }
      // A page of nothing but files that were removed under us is not the end.
      if !entries.isEmpty { return entries }
      last = end.key
    }
  }

  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    let listed = try await records.summaries(prefix: prefix, after: after, limit: limit)
    var summaries: [StoreEntrySummary] = []
    for (summary, record) in zip(listed, try await recorded(listed.map(\.key))) {
      summaries.append(summary.of(record, keepsSecrets: home.slots.keepsSecrets))
    }
    return summaries
  }

  func systemRecords() throws -> [SystemRecordName: Data] {
    try (records as? any RecordSnapshot)?.systemRecords() ?? [:]
  }

  /// The records of keys that the journal has; `nil` for one that is damaged, whose value may be whole.
  private func recorded(_ keys: [StoreKey]) async throws -> [SlotRecord?] {
    do {
      return try await records.entries(keys).map { try $0.map { try home.recorded($0).record } }
    } catch let error as StorageError where error.code == .damaged && error.key != nil {
      guard keys.count > 1 else { return [nil] }
      var single: [SlotRecord?] = []
      for key in keys { single += try await recorded([key]) }
      return single
    }
  }

  /// Reads from the home: here where that is quick, else where it holds nobody up.
  private func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard home.slots.readsBlock else { return try body() }
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
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
        // The entries before a damaged one are good: the damage is the next page's business.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  private func value(_ entry: StoreEntry) throws -> StoreEntry? {
    let recorded = try home.recorded(entry)
    return try home.look(entry.key, at: recorded, journal, quarantine)
  }
}
