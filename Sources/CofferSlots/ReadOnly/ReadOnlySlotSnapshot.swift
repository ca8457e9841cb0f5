import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// One state of a home in slots that cannot be written: what its journal says, and what others have added.
final class ReadOnlySlotSnapshot: RecordSnapshot {
  /// How many bytes of values a page holds at most, so that a page of large values stays small.
  private static let pageBytes = 16 << 20

  /// `nil` where there is no journal.
  private let records: (any StorageSnapshot)?
  private let reader: ReadOnlySlotReader
  private let name: String
  private let queue: DispatchQueue
  private let isEnded = Locked(false)
  /// The keys of the values that are there, in their order; listed once.
  private let keys = Locked<[StoreKey]?>(nil)

  init(_ records: (any StorageSnapshot)?, _ reader: ReadOnlySlotReader, name: String, queue: DispatchQueue) {
    self.records = records
    self.reader = reader
    self.name = name
    self.queue = queue
  }

  func end() { isEnded.withLock { $0 = true } }

  var revision: StoreRevision { records?.revision ?? .zero }

  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    let found = try await records?.entries(keys) ?? Array(repeating: nil, count: keys.count)
    return try await reading { [self] in
      try zip(keys, found).map { key, record in
        try value(key, record)?.entry(key)
      }
    }
  }

  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    var last = after
    while true {
      let candidates = try await candidates(prefix: prefix, after: last, limit: limit)
      guard let end = candidates.last else { return [] }
      let entries = try await reading { [self] in try collect(candidates) }
      // A page of nothing but values that are gone is not the end.
      if !entries.isEmpty { return entries }
      last = end.key
    }
  }

  /// Every value is read: nothing else proves here that it is there. A damaged one is listed; its readers are told.
  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    var last = after
    while true {
      let candidates = try await candidates(prefix: prefix, after: last, limit: limit)
      guard let end = candidates.last else { return [] }
      let summaries = try await reading { [self] in try candidates.compactMap(summary) }
      if !summaries.isEmpty { return summaries }
      last = end.key
    }
  }

  func systemRecords() throws -> [SystemRecordName: Data] {
    try (records as? any RecordSnapshot)?.systemRecords() ?? [:]
  }

  private func summary(_ candidate: Candidate) throws -> StoreEntrySummary? {
    func summary(_ size: Int?, _ attributes: ValueAttributes = .none) -> StoreEntrySummary {
      StoreEntrySummary(key: candidate.key, size: size, revision: .zero, date: nil, attributes: attributes)
    }
    do {
      guard let content = try value(candidate.key, candidate.record) else { return nil }
      return summary(reader.slots.keepsSecrets ? nil : content.data.count, content.attributes)
    } catch let error as StorageError where error.code == .damaged && error.key == candidate.key {
      return summary(nil)
    }
  }

  // MARK: Keys

  private struct Candidate {
    let key: StoreKey
    /// `nil` for a key that the journal does not have.
    let record: StoreEntry?
  }

  /// The next keys that may have a value, in their order.
  private func candidates(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [Candidate] {
    let recorded = try await records?.page(prefix: prefix, after: after, limit: limit) ?? []
    let inPlace = try await reading { [self] in try keysInPlace() }
    var found = recorded.map { Candidate(key: $0.key, record: $0) }
    let known = Set(recorded.map(\.key))
    for key in inPlace[firstIndex(of: after, in: inPlace)...] where prefix.map(key.hasPrefix) ?? true {
      // Beyond the last record there may be more of them.
      if let last = recorded.last, key > last.key { break }
      if recorded.isEmpty, found.count >= limit { break }
      if !known.contains(key) { found.append(Candidate(key: key, record: nil)) }
    }
    return Array(found.sorted { $0.key < $1.key }.prefix(limit))
  }

  /// Where the keys after one begin.
  private func firstIndex(of after: StoreKey?, in keys: [StoreKey]) -> Int {
    guard let after else { return 0 }
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] <= after { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func keysInPlace() throws -> [StoreKey] {
    if let known = keys.withLock({ $0 }) { return known }
    let listed: [StoreKey]
    do {
      listed = try reader.slots.list().compactMap { if case .value(let key) = $0 { key } else { nil } }.sorted()
    } catch let error as StorageError {
      throw error.locating(backend: name)
    }
    keys.withLock { $0 = listed }
    return listed
  }

  // MARK: Values

  private func collect(_ candidates: [Candidate]) throws -> [StoreEntry] {
    var entries: [StoreEntry] = []
    var bytes = 0
    for candidate in candidates where bytes < Self.pageBytes {
      do {
        guard let content = try value(candidate.key, candidate.record) else { continue }
        entries.append(content.entry(candidate.key))
        bytes += content.data.count
      } catch {
        // The entries before a damaged one are good: the damage is the next page's business.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  private func value(_ key: StoreKey, _ record: StoreEntry?) throws -> SlotContent? {
    guard let record else { return try reader.added(key) }
    guard let known = record.value.withUnsafeBytes({ SlotRecord($0) }) else {
      throw StorageError.damagedRecord(key, name)
    }
    return try reader.value(key, at: SlotHome.Recorded(revision: record.revision, record: known))
  }

  /// Reads from the home: here where that is quick, else where it holds nobody up.
  private func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard !isEnded.withLock({ $0 }) else { throw StorageError.snapshotEnded(name) }
    guard reader.slots.readsBlock else { return try body() }
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }
}

extension SlotContent {
  /// What a reader gets who is told no revisions.
  func entry(_ key: StoreKey) -> StoreEntry {
    StoreEntry(key: key, value: data, revision: .zero, attributes: attributes)
  }
}
