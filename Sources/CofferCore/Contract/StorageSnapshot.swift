/// A consistent state of a store, unaffected by concurrent writes.
///
/// A snapshot is valid inside the ``StorageEngine/withSnapshot(_:)`` call that created it; afterwards its methods throw
/// ``StorageError/Code-swift.struct/closed``. They throw any other ``StorageError`` if what they return cannot be read.
public protocol StorageSnapshot: Sendable {
  /// The revision of the snapshot.
  var revision: StoreRevision { get }

  /// Returns the entries of `keys` in the same order, with `nil` for each absent key.
  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?]

  /// Returns the summary of one key without reading the value, or `nil` if the key is absent.
  func summary(of key: KeyName) async throws -> StoreEntry.Summary?

  /// Returns up to `limit` entries in the order of their keys: those whose key starts with `prefix` and sorts after
  /// `after`.
  ///
  /// Pass the last key of a page as `after` to read the next one. Only an empty page is the end: a page may be shorter
  /// than `limit` although more entries follow, since engines keep pages of large values small.
  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry]

  /// Returns a page of summaries, as ``page(prefix:after:limit:)`` does of entries, without reading the values.
  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary]
}

extension StorageSnapshot {
  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await entries([key])[0].map(StoreEntry.Summary.init)
  }

  public func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await page(prefix: prefix, after: after, limit: limit).map(StoreEntry.Summary.init)
  }

  /// Calls `body` with every entry whose key starts with `prefix`, in the order of the keys.
  /// - Parameters:
  ///   - prefix: the prefix of the keys; `nil` for all keys.
  ///   - pageSize: the maximum number of entries that are in memory at once; 1,000 by default.
  ///   - body: called with one entry at a time.
  /// - Throws: Any error of `body`; ``StorageError`` if an entry cannot be read.
  public func forEach(prefix: KeyName? = nil, pageSize: Int = 1_000, _ body: (StoreEntry) async throws -> Void)
    async throws
  {
    try await forEachPage(prefix: prefix, pageSize: pageSize) { page in
      for entry in page { try await body(entry) }
    }
  }

  /// Calls `body` with every page of up to `pageSize` entries, none of them empty.
  package func forEachPage(
    prefix: KeyName? = nil, after: KeyName? = nil, pageSize: Int = 1_000, _ body: ([StoreEntry]) async throws -> Void
  ) async throws {
    var last = after
    while true {
      let page = try await page(prefix: prefix, after: last, limit: pageSize)
      guard let end = page.last else { return }
      try await body(page)
      last = end.key
    }
  }

  /// Returns the summaries of all values whose keys start with `prefix`, in the order of the keys.
  /// - Throws: ``StorageError`` if they cannot be read.
  public func allSummaries(prefix: KeyName? = nil) async throws -> [StoreEntry.Summary] {
    var all: [StoreEntry.Summary] = []
    while true {
      let page = try await summaries(prefix: prefix, after: all.last?.key, limit: 1_000)
      if page.isEmpty { return all }
      all += page
    }
  }
}
