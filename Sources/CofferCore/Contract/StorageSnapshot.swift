/// One state of a store, whatever is written meanwhile.
///
/// A snapshot is valid inside the ``StorageEngine/withSnapshot(_:)`` call that gave it; afterwards its methods throw
/// ``StorageError/Code-swift.struct/closed``.
public protocol StorageSnapshot: Sendable {
  /// The revision of the state.
  var revision: StoreRevision { get }

  /// The entries of `keys`, in the same order; `nil` where a key is absent.
  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?]

  /// Up to `limit` entries in the order of their keys: those whose key starts with `prefix` and sorts after `after`.
  ///
  /// Ask for the next page with the last key of the one before. Only an empty page is the end: a page may be shorter
  /// than `limit` although more follow, since engines keep pages of large values small.
  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry]

  /// The same without the values: no more is read than the names, the sizes and the attributes.
  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary]
}

extension StorageSnapshot {
  public func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    try await page(prefix: prefix, after: after, limit: limit).map(StoreEntrySummary.init)
  }

  /// Calls `body` with every entry whose key starts with `prefix`, in the order of the keys.
  public func forEach(prefix: StoreKey? = nil, pageSize: Int = 1_000, _ body: (StoreEntry) async throws -> Void)
    async throws
  {
    try await forEachPage(prefix: prefix, pageSize: pageSize) { page in
      for entry in page { try await body(entry) }
    }
  }

  /// Calls `body` with every page of up to `pageSize` entries, none of them empty.
  package func forEachPage(
    prefix: StoreKey? = nil, after: StoreKey? = nil, pageSize: Int = 1_000, _ body: ([StoreEntry]) async throws -> Void
  ) async throws {
    var last = after
    while true {
      let page = try await page(prefix: prefix, after: last, limit: pageSize)
      guard let end = page.last else { return }
      try await body(page)
      last = end.key
    }
  }

  /// What a listing says of all values whose keys start with `prefix`, in the order of the keys.
  public func allSummaries(prefix: StoreKey? = nil) async throws -> [StoreEntrySummary] {
    var all: [StoreEntrySummary] = []
    while true {
      let page = try await summaries(prefix: prefix, after: all.last?.key, limit: 1_000)
      if page.isEmpty { return all }
      all += page
    }
  }
}
