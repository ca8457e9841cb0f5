import CofferCore
import Foundation

/// A snapshot whose values are opened as they are read.
struct EncryptedSnapshot: StorageSnapshot {
  /// The stored values.
  let base: any StorageSnapshot
  let engine: EncryptedEngine
  /// The state of the key ring at the revision of the snapshot.
  let cipher: StoreCipher
  /// The date of the snapshot, by the clock of the engine.
  let date: Date
  private let withExpired: Bool
  /// The index of a store with hidden names, once a listing needed it.
  private let index = Locked<NameIndex?>(nil)

  /// The largest number of stored bytes that a page of several values holds.
  private static let pageLimit = 4 << 20
  /// The assumed size of a value whose size is not disclosed.
  private static let assumedSize = 64 << 10

  init(
    _ base: any StorageSnapshot, of engine: EncryptedEngine, under cipher: StoreCipher, at date: Date,
    withExpired: Bool = false
  ) {
    self.base = base
    self.cipher = cipher
    self.withExpired = withExpired
    self.engine = engine
    self.date = date
  }

  var revision: StoreRevision { base.revision }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await opening { try await engine.entries(keys, under: cipher) { try await base.entries($0) } }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await opening { try await engine.summary(of: key, under: cipher) { try await base.summary(of: $0) } }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    guard engine.hidesNames else {
      return try await opening {
        try await base.page(prefix: prefix, after: after, limit: limit).map { try cipher.open($0, of: $0.key) }
      }
    }
    let index = try await nameIndex()
    var next = index.start(prefix: prefix, after: after)
    while limit > 0 {
      let part = part(of: index, from: next, prefix, limit)
      guard !part.isEmpty else { return [] }
      let page = try await entries(part)
      // An index that was made before may name values that have expired since: only the end is an empty page.
      if !page.isEmpty { return page }
      next = part.endIndex
    }
    return []
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    guard engine.hidesNames else {
      return try await base.summaries(prefix: prefix, after: after, limit: limit).map {
        cipher.summary($0, of: $0.key)
      }
    }
    let index = try await nameIndex()
    var summaries: [StoreEntry.Summary] = []
    for entry in index.entries[index.start(prefix: prefix, after: after)...] {
      guard summaries.count < limit, prefix.map(entry.name.hasPrefix) ?? true else { break }
      if !entry.summary.attributes.isExpired(at: date) { summaries.append(entry.summary) }
    }
    return summaries
  }

  /// Calls `body`, which opens entries: one that does not open under the ring of the snapshot never does.
  private func opening<R>(_ body: () async throws -> R) async throws -> R {
    do { return try await body() } catch StoreCipher.Failure.unopened(let error) { throw error }
  }

  // MARK: Hidden names

  /// Returns the index of this snapshot.
  func nameIndex() async throws -> NameIndex {
    if let index = index.withLock({ $0 }) { return index }
    let made = try await opening {
      try await engine.nameIndex(of: base, under: cipher, at: date, withExpired: withExpired)
    }
    index.withLock { $0 = made }
    return made
  }

  /// Returns the entries of the next page, which is short if values are large.
  private func part(
    of index: NameIndex, from start: Int, _ prefix: KeyName?, _ limit: Int
  ) -> ArraySlice<NameIndex.Entry> {
    var (end, size) = (start, 0)
    while end < index.entries.count, end - start < limit, end == start || size < Self.pageLimit {
      let entry = index.entries[end]
      guard prefix.map(entry.name.hasPrefix) ?? true else { break }
      size += entry.storedSize ?? Self.assumedSize
      end += 1
    }
    return index.entries[start..<end]
  }

  private func entries(_ part: ArraySlice<NameIndex.Entry>) async throws -> [StoreEntry] {
    let stored: [StoreEntry?]
    do { stored = try await base.entries(part.map(\.stored)) } catch let error as StorageError {
      throw error.renaming { key in part.first { $0.stored == key }?.name }
    }
    return try await opening {
      try zip(part, stored).compactMap { entry, stored in try stored.map { try cipher.open($0, of: entry.name) } }
    }
  }
}
