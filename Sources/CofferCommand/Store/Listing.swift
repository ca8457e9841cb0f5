import Coffer
import CofferEncryption

/// An element of a listing: an entry with its value, or a summary that is available without reading the value.
protocol Listed: Sendable {
  var key: KeyName { get }
  var attributes: ValueAttributes { get }

  static func page(of snapshot: any StorageSnapshot, prefix: KeyName?, after: KeyName?, limit: Int) async throws
    -> [Self]
}

extension StoreEntry: Listed {
  static func page(
    of snapshot: any StorageSnapshot, prefix: KeyName?, after: KeyName?, limit: Int
  ) async throws -> [StoreEntry] {
    try await snapshot.page(prefix: prefix, after: after, limit: limit)
  }
}

extension StoreEntry.Summary: Listed {
  static func page(
    of snapshot: any StorageSnapshot, prefix: KeyName?, after: KeyName?, limit: Int
  ) async throws -> [StoreEntry.Summary] {
    try await snapshot.summaries(prefix: prefix, after: after, limit: limit)
  }
}

/// The keys of a store in order, read page by page; damaged values are reported and skipped.
///
/// Each page is read from its own snapshot, so that a slow reader of the listing does not delay checkpoints and the
/// removal of retained values. A key that exists throughout is listed exactly once.
struct Listing<Found: Listed> {
  enum Item {
    case found(Found)
    /// A value that is damaged or could not be read, for example for lack of permission.
    case skipped(Skipped)
  }

  let engine: any StorageEngine
  let prefix: KeyName?

  /// - Parameter prefix: The prefix of the listed keys. By default, all keys are listed.
  init(_ engine: any StorageEngine, of type: Found.Type, prefix: KeyName? = nil) {
    self.engine = engine
    self.prefix = prefix
  }

  /// Calls `body` with each item in the order of the keys.
  func visit(_ body: (Item) throws -> Void) async throws {
    let prefix = prefix
    var (last, isLost) = (KeyName?.none, Bool?.none)
    while true {
      let items = try await engine.withSnapshot { [last] snapshot in
        try await Self.page(of: snapshot, prefix: prefix, after: last)
      }
      guard let end = items.last else { return }
      for item in items {
        if isLost == nil, item.isSealed { isLost = try await hasLostRing() }
        try body(isLost == true ? item.withoutRing(in: engine) : item)
      }
      last = end.key
    }
  }

  /// Whether envelopes are listed although the store has no key ring. One that is damaged is reported elsewhere.
  private func hasLostRing() async throws -> Bool {
    guard engine.showsStoredForm else { return false }
    do { return try await KeyRingStore.inspect(engine) == nil } catch let error as StorageError
      where [.damaged, .newerFormat].contains(error.code)
    {
      return false
    }
  }

  /// Returns the number of keys and the number of those that could not be read.
  func count() async throws -> (all: Int, skipped: Int) {
    var (all, skipped) = (0, 0)
    try await visit { item in
      all += 1
      if case .skipped = item { skipped += 1 }
    }
    return (all, skipped)
  }

  /// Returns the items of a snapshot that follow `last`: at most 256, and none at the end.
  static func page(of snapshot: any StorageSnapshot, prefix: KeyName?, after last: KeyName?) async throws -> [Item] {
    func read(_ limit: Int) async throws -> [Item] {
      try await Found.page(of: snapshot, prefix: prefix, after: last, limit: limit).map(Item.found)
    }
    do {
      return try await read(256)
    } catch let error as StorageError {
      // A page fails as a whole for one damaged value or a torn file: read the values before it one by one.
      do {
        let items = try await read(1)
        return items.isEmpty ? [try item(error, prefix: prefix, after: last)] : items
      } catch let error as StorageError {
        return [try item(error, prefix: prefix, after: last)]
      }
    }
  }

  /// Returns the value at which a page failed, if the error names its key.
  /// - Throws: `error` if it names no key, as for a damaged file: then there is no next page.
  private static func item(_ error: StorageError, prefix: KeyName?, after last: KeyName?) throws -> Item {
    guard let key = error.key, last.map({ key > $0 }) ?? true, prefix.map(key.hasPrefix) ?? true else { throw error }
    return .skipped(Skipped(key: key, error: error))
  }
}

extension Listing.Item {
  fileprivate var isSealed: Bool { if case .found(let found) = self { found.attributes.isSealed } else { false } }

  /// The item of a store that has lost its key ring: an envelope cannot be read.
  fileprivate func withoutRing(in engine: any StorageEngine) -> Self {
    guard isSealed else { return self }
    return .skipped(Skipped(key: key, error: .ringIsLost(location: engine.description, key: key)))
  }

  var key: KeyName {
    switch self {
    case .found(let found): found.key
    case .skipped(let skipped): skipped.key
    }
  }
}
