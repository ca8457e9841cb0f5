import Coffer

/// What a listing of a store gives for a key: the value as well, or what can be told without reading it.
protocol Listed: Sendable {
  var key: StoreKey { get }

  static func page(of snapshot: any StorageSnapshot, prefix: StoreKey?, after: StoreKey?, limit: Int) async throws
    -> [Self]
}

extension StoreEntry: Listed {
  static func page(
    of snapshot: any StorageSnapshot, prefix: StoreKey?, after: StoreKey?, limit: Int
  ) async throws -> [StoreEntry] {
    try await snapshot.page(prefix: prefix, after: after, limit: limit)
  }
}

extension StoreEntrySummary: Listed {
  static func page(
    of snapshot: any StorageSnapshot, prefix: StoreKey?, after: StoreKey?, limit: Int
  ) async throws -> [StoreEntrySummary] {
    try await snapshot.summaries(prefix: prefix, after: after, limit: limit)
  }
}

/// A store's keys in order, read page by page, past what is damaged.
///
/// Each page is a snapshot of its own: a listing that somebody reads slowly must not hold back the store's
/// housekeeping. A key that is there all the while is listed once.
struct Listing<Found: Listed> {
  enum Item {
    case found(Found)
    /// What is damaged, or is there and could not be read: permission, a device that fails.
    case skipped(Skipped)
  }

  let engine: any StorageEngine
  let prefix: StoreKey?

  /// - Parameter prefix: of the keys that are listed; all unless given.
  init(_ engine: any StorageEngine, of type: Found.Type, prefix: StoreKey? = nil) {
    self.engine = engine
    self.prefix = prefix
  }

  /// Calls `body` with each item.
  func visit(_ body: (Item) throws -> Void) async throws {
    let prefix = prefix
    var last: StoreKey?
    while true {
      let items = try await engine.withSnapshot { [last] snapshot in
        try await Self.page(of: snapshot, prefix: prefix, after: last)
      }
      guard let end = items.last else { return }
      for item in items { try body(item) }
      last = end.key
    }
  }

  /// How many keys there are, and how many of them could not be read as far as the listing reads.
  func count() async throws -> (all: Int, skipped: Int) {
    var (all, skipped) = (0, 0)
    try await visit { item in
      all += 1
      if case .skipped = item { skipped += 1 }
    }
    return (all, skipped)
  }

  /// The next items of a snapshot; none at the end.
  static func page(of snapshot: any StorageSnapshot, prefix: StoreKey?, after last: StoreKey?) async throws -> [Item] {
    func read(_ limit: Int) async throws -> [Item] {
      try await Found.page(of: snapshot, prefix: prefix, after: last, limit: limit).map(Item.found)
    }
    do {
      return try await read(256)
    } catch let error as StorageError {
      // A page fails as a whole, for one of its values or a torn file: those before that come one by one.
      do {
        let items = try await read(1)
        return items.isEmpty ? [try item(error, prefix: prefix, after: last)] : items
      } catch let error as StorageError {
        return [try item(error, prefix: prefix, after: last)]
      }
    }
  }

  /// The value that a page failed at. One bad value says its key; a damaged file does not, and has no next page.
  private static func item(_ error: StorageError, prefix: StoreKey?, after last: StoreKey?) throws -> Item {
    guard let key = error.key, last.map({ key > $0 }) ?? true, prefix.map(key.hasPrefix) ?? true else { throw error }
    return .skipped(Skipped(key: key, error: error))
  }
}

extension Listing.Item {
  var key: StoreKey {
    switch self {
    case .found(let found): found.key
    case .skipped(let skipped): skipped.key
    }
  }
}
