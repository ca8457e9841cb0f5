public import CofferCore

extension Import {
  /// What `StorageEngine.import(from:options:)` has done, or would do. It contains no value.
  public struct Report: Hashable, Sendable {
    /// What happened to one value.
    public enum Outcome: Hashable, Sendable {
      /// The value was stored; in a dry run, it would be.
      case imported
      /// The store had the same value.
      case alreadyThere
      /// The store has another value under the key, which it keeps.
      case conflict
      /// It is not to be taken, or is no value.
      case skipped(reason: String)
      /// The original cannot be read or stored. It stays as it is.
      case unreadable(reason: String)
    }

    /// One value or other find of the source.
    public struct Entry: Hashable, Sendable {
      /// The name in the source; `?` if it is not text.
      public var name: String
      /// The key in the store, or `nil` if it has none.
      public var key: KeyName?
      /// The size of the decoded value in bytes; `nil` if it is unknown or the store keeps secrets.
      public var size: Int?
      /// What happened to it.
      public var outcome: Outcome
      /// Whether the original was removed.
      public var isOriginalRemoved = false
      /// Whether the decoded value looks like base64 text; known of a dry run only.
      var isBase64 = false

      /// Whether the store has the value.
      var isStored: Bool { outcome == .imported || outcome == .alreadyThere }

      init(name: String, key: KeyName? = nil, size: Int? = nil, outcome: Outcome) {
        (self.name, self.key, self.size, self.outcome) = (name, key, size, outcome)
      }
    }

    /// The maximum number of ``entries`` of the values that are in the store, and of the others.
    public static let listedEntries = 10_000

    /// Whether nothing was changed.
    public let isDryRun: Bool
    /// The first ``listedEntries`` values that are in the store, and the first ``listedEntries`` others.
    public private(set) var entries: [Entry] = []
    /// The number of values that were stored, or would be.
    public private(set) var imported = 0
    /// The sum of their sizes in bytes; 0 for a store that keeps secrets.
    public private(set) var importedBytes = 0
    /// The number of values that the store had.
    public private(set) var alreadyThere = 0
    /// The number of values whose keys have other values in the store.
    public private(set) var conflicts = 0
    /// The number of finds that are not to be taken.
    public private(set) var skipped = 0
    /// The number of values that cannot be read or stored.
    public private(set) var unreadable = 0
    /// The number of values that a dry run would store and that look like base64 text: another encoding may return the
    /// bytes that they encode.
    public private(set) var base64Texts = 0
    /// The number of originals that were removed.
    public private(set) var removedOriginals = 0

    /// Whether the store has every value that was to be taken.
    public var isComplete: Bool { conflicts == 0 && unreadable == 0 }
    /// The number of finds that were counted and are not in ``entries``.
    public var omittedEntries: Int { imported + alreadyThere + conflicts + skipped + unreadable - entries.count }

    init(isDryRun: Bool) { self.isDryRun = isDryRun }

    mutating func add(_ entry: Entry) {
      switch entry.outcome {
      case .imported:
        imported += 1
        importedBytes += entry.size ?? 0
        if entry.isBase64 { base64Texts += 1 }
      case .alreadyThere: alreadyThere += 1
      case .conflict: conflicts += 1
      case .skipped: skipped += 1
      case .unreadable: unreadable += 1
      }
      if entry.isOriginalRemoved { removedOriginals += 1 }
      let count = entry.isStored ? imported + alreadyThere : conflicts + skipped + unreadable
      if count <= Self.listedEntries { entries.append(entry) }
    }
  }
}

extension Import {
  /// How far a ``Import`` is.
  public struct State: Hashable, Sendable {
    /// The number of values that are done.
    public internal(set) var values = 0
    /// The number of values of the source; 0 while they are being counted.
    public internal(set) var totalValues = 0
  }
}
