import Coffer

/// A store's keys in order, read page by page, past what is damaged.
///
/// Each page is a snapshot of its own: a listing that somebody reads slowly must not hold back the store's
/// housekeeping. A key that is there all the while is listed once.
struct Listing {
  enum Item {
    case entry(Entry)
    case damaged(Key)
  }

  private static let pageSize = 256

  let engine: any StorageEngine
  let prefix: Key?

  /// Calls `body` with each item.
  func visit(_ body: (Item) throws -> Void) async throws {
    var last: Key?
    while let page = try await page(after: last) {
      for item in page {
        try body(item)
        last = item.key
      }
    }
  }

  /// The next items; `nil` at the end.
  private func page(after last: Key?) async throws -> [Item]? {
    let prefix = prefix
    do {
      let entries = try await engine.withSnapshot { snapshot in
        try await snapshot.page(prefix: prefix, after: last, limit: Self.pageSize)
      }
      return entries.isEmpty ? nil : entries.map(Item.entry)
    } catch let error as StorageError where error.code == .damaged {
      // One damaged value says its key; a damaged file does not.
      guard let key = error.key, last.map({ key > $0 }) ?? true else { throw error }
      return [.damaged(key)]
    }
  }
}

extension Listing.Item {
  var key: Key {
    switch self {
    case .entry(let entry): entry.key
    case .damaged(let key): key
    }
  }
}
