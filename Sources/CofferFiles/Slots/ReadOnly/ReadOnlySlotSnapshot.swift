import CofferCore
import CofferSQLite
import Foundation

/// A snapshot of a read-only store in slots: the state in its journal and the values that other programs have added.
final class ReadOnlySlotSnapshot: RecordSnapshot {
  /// The maximum total size of the values in a page, in bytes.
  private static let pageBytes = 16 << 20

  /// The snapshot of the journal, or `nil` if there is no journal.
  private let records: (any StorageSnapshot)?
  private let reader: ReadOnlySlotReader
  private let name: String
  private let queue: DispatchQueue
  private let isEnded = Locked(false)
  /// The sorted keys of the published values, listed once.
  private let keys = Locked<[KeyName]?>(nil)

  init(_ records: (any StorageSnapshot)?, _ reader: ReadOnlySlotReader, name: String, queue: DispatchQueue) {
    self.records = records
    self.reader = reader
    self.name = name
    self.queue = queue
  }

  func end() { isEnded.withLock { $0 = true } }

  var revision: StoreRevision { records?.revision ?? .zero }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let found = try await records?.entries(keys) ?? Array(repeating: nil, count: keys.count)
    return try await reading { [self] in
      try zip(keys, found).map { key, record in
        try value(key, record)?.entry(key)
      }
    }
  }

  /// Reads the value, since nothing else proves here that it exists.
  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await entries([key])[0].map { entry in
      StoreEntry.Summary(
        key: key, size: reader.slots.keepsSecrets ? nil : entry.value.count, revision: entry.revision, date: nil,
        attributes: entry.attributes)
    }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    var last = after
    while true {
      let candidates = try await candidates(prefix: prefix, after: last, limit: limit)
      guard let end = candidates.last else { return [] }
      let entries = try await reading { [self] in try collect(candidates) }
      // A page whose values are all gone is not the last page.
      if !entries.isEmpty { return entries }
      last = end.key
    }
  }

  /// Reads every value, since nothing else proves here that it exists. A damaged value is listed; reading it throws.
  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    var last = after
    while true {
      let candidates = try await candidates(prefix: prefix, after: last, limit: limit)
      guard let end = candidates.last else { return [] }
      let summaries = try await reading { [self] in try candidates.compactMap(summary) }
      if !summaries.isEmpty { return summaries }
      last = end.key
    }
  }

  func systemRecords() throws -> [SystemRecord.Name: Data] {
    try (records as? any RecordSnapshot)?.systemRecords() ?? [:]
  }

  private func summary(_ candidate: Candidate) throws -> StoreEntry.Summary? {
    func summary(_ size: Int?, _ attributes: ValueAttributes = .none) -> StoreEntry.Summary {
      StoreEntry.Summary(key: candidate.key, size: size, revision: .zero, date: nil, attributes: attributes)
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
    let key: KeyName
    /// The journal entry, or `nil` for a key without one.
    let record: StoreEntry?
  }

  /// Returns the next keys that may have a value, sorted.
  private func candidates(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [Candidate] {
    let recorded = try await records?.page(prefix: prefix, after: after, limit: limit) ?? []
    let published = try await reading { [self] in try publishedKeys() }
    var found = recorded.map { Candidate(key: $0.key, record: $0) }
    let known = Set(recorded.map(\.key))
    for key in published[firstIndex(of: after, in: published)...] where prefix.map(key.hasPrefix) ?? true {
      // Keys beyond the last record belong to a later page.
      if let last = recorded.last, key > last.key { break }
      if recorded.isEmpty, found.count >= limit { break }
      if !known.contains(key) { found.append(Candidate(key: key, record: nil)) }
    }
    return Array(found.sorted { $0.key < $1.key }.prefix(limit))
  }

  /// Returns the index of the first key after `after`, by binary search.
  private func firstIndex(of after: KeyName?, in keys: [KeyName]) -> Int {
    guard let after else { return 0 }
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] <= after { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func publishedKeys() throws -> [KeyName] {
    if let known = keys.withLock({ $0 }) { return known }
    let listed: [KeyName]
    do {
      listed = try reader.slots.list().compactMap { if case .value(let key) = $0 { key } else { nil } }.sorted()
    } catch let error as StorageError {
      throw error.locating(at: name)
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
        // Return the entries before a damaged value; the next page throws its error.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  private func value(_ key: KeyName, _ record: StoreEntry?) throws -> SlotContent? {
    guard let record else { return try reader.added(key) }
    guard let known = record.value.withUnsafeBytes({ SlotRecord($0) }) else {
      throw StorageError.damagedRecord(key, name)
    }
    return try reader.value(key, at: SlotHandle.Recorded(revision: record.revision, record: known))
  }

  /// Reads from the store, on a dispatch queue if reads can block.
  private func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard !isEnded.withLock({ $0 }) else { throw StorageError.snapshotEnded(name) }
    guard reader.slots.readsBlock else { return try body() }
    return try await queue.run(body)
  }
}

extension SlotContent {
  /// The content as an entry without a revision.
  func entry(_ key: KeyName) -> StoreEntry {
    StoreEntry(key: key, value: data, revision: .zero, attributes: attributes)
  }
}
