import CofferCore

/// What a batch replaces in a store that covers its values, as it was read before the turn of the batch, and is brought
/// up to date during it.
///
/// The reading before takes as long as the batch is large; that during the turn only as other commits have overlapped
/// with the batch. It takes no snapshot, whose number is limited: those who have one may be waiting for the turn.
struct ReplacedValues: Sendable {
  /// The versions of the keys that the batch puts, removes or clears.
  private(set) var versions: [StoreKey: ValueVersion] = [:]
  /// The digest of all other values, if they were counted.
  private(set) var others: ValueDigest?

  private let changes: ValueChanges
  private let keys: FreshnessKeys
  /// Whether all values are encrypted, so that a plain one has lost its attributes.
  private let isComplete: Bool
  private let base: any StorageEngine
  /// The revision up to which everything was seen.
  private let revision: StoreRevision
  /// The snapshot of the listing or counting.
  private let snapshot: (any StorageSnapshot)?

  private init(
    _ changes: ValueChanges, _ base: any StorageEngine, _ cipher: StoreCipher, _ keys: FreshnessKeys,
    at revision: StoreRevision, _ snapshot: (any StorageSnapshot)?
  ) {
    (self.changes, self.base, self.keys, self.revision, self.snapshot) = (changes, base, keys, revision, snapshot)
    isComplete = cipher.ring.phase == .complete
  }

  /// Reads the single keys of a batch.
  /// - Throws: `damaged` if the version of one is not known.
  init(of changes: ValueChanges, in base: any StorageEngine, under cipher: StoreCipher, _ keys: FreshnessKeys)
    async throws
  {
    self.init(changes, base, cipher, keys, at: base.latestRevision, nil)
    guard !changes.clearsAll else { return }
    for key in changes.versions.keys { versions[key] = try await version(of: key) }
  }

  /// Lists what a batch replaces, in a snapshot that stays open until the batch is committed.
  /// - Throws: `damaged` if the version of a key is not known.
  init(
    of changes: ValueChanges, listedIn snapshot: any StorageSnapshot, of base: any StorageEngine,
    under cipher: StoreCipher, _ keys: FreshnessKeys
  ) async throws {
    self.init(changes, base, cipher, keys, at: snapshot.revision, snapshot)
    for key in changes.versions.keys {
      versions[key] = try await snapshot.summary(of: key).flatMap { try version($0) }
    }
    for prefix in changes.prefixes {
      for summary in try await snapshot.allSummaries(prefix: prefix) { versions[summary.key] = try version(summary) }
    }
  }

  /// Counts the values that a batch does not replace, in a snapshot that stays open until the batch is committed.
  init(
    except changes: ValueChanges, countedIn snapshot: any StorageSnapshot, of base: any StorageEngine,
    under cipher: StoreCipher, _ keys: FreshnessKeys
  ) async throws {
    self.init(changes, base, cipher, keys, at: snapshot.revision, snapshot)
    others = try await ValueCount(of: snapshot, under: keys, except: changes).digest
  }

  /// Returns what is replaced in the state that has a record of the values; `nil` if it has to be read anew.
  /// - Parameter present: the revision of the record, which is a precondition of the commit: the values that are read
  ///   here belong to it, or the commit fails.
  /// - Throws: `damaged` if the version of a key is not known.
  func updated(to present: StoreRevision) async throws -> ReplacedValues? {
    guard present > revision, !changes.clearsAll else { return self }
    var next = self
    if let touched = keysChanged(upTo: present) {
      for key in touched { try await next.readAgain(key) }
    } else {
      guard snapshot == nil else { return nil }
      for key in changes.versions.keys { try await next.readAgain(key) }
    }
    return next
  }

  /// Returns the keys that were changed since the reading; `nil` if they are not known.
  private func keysChanged(upTo present: StoreRevision) -> Set<StoreKey>? {
    guard let commits = base.recentCommits(after: revision), let last = commits.last, last.revision >= present,
      commits.allSatisfy({ !$0.changed.isEverything && $0.changed.prefixes.isEmpty })
    else { return nil }
    return Set(commits.flatMap(\.changed.keys))
  }

  private mutating func readAgain(_ key: StoreKey) async throws {
    if others == nil {
      if changes.touches(key) { versions[key] = try await version(of: key) }
    } else if !changes.touches(key), let snapshot {
      // A value whose version is not known was not counted, and is not.
      let before = try await knownVersion { try await snapshot.summary(of: key) }
      let now = try await knownVersion { try await base.summary(of: key) }
      others?.remove(before)
      others?.add(now)
    }
  }

  private func version(of key: StoreKey) async throws -> ValueVersion? {
    try await base.summary(of: key).flatMap { try version($0) }
  }

  private func version(_ summary: StoreEntrySummary) throws -> ValueVersion? {
    guard summary.attributes.isMarked || !isComplete else {
      throw StorageError(.damaged, "An encrypted value has lost its attributes.", key: summary.key)
    }
    return try ValueVersion(of: summary.key, summary.attributes, under: keys)
  }

  private func knownVersion(_ read: () async throws -> StoreEntrySummary?) async throws -> ValueVersion? {
    do { return try await read().flatMap { try version($0) } } catch let error as StorageError
      where error.code == .damaged
    {
      return nil
    }
  }
}

/// The digest of the values in a snapshot.
struct ValueCount: Sendable {
  private(set) var digest = ValueDigest()
  /// The number of values whose attributes are damaged, which are not in the digest.
  private(set) var damaged = 0
  /// The number of plain values, which are not in it either.
  private(set) var plain = 0

  /// - Parameter changes: a batch whose keys are left out.
  /// - Throws: `damaged` if the list of the values is.
  init(of snapshot: any StorageSnapshot, under keys: FreshnessKeys, except changes: ValueChanges? = nil) async throws {
    var last: StoreKey?
    while true {
      do {
        let page = try await snapshot.summaries(prefix: nil, after: last, limit: 1_000)
        guard let end = page.last else { return }
        for summary in page where changes?.touches(summary.key) != true {
          digest.add(try ValueVersion(of: summary.key, summary.attributes, under: keys))
          if !summary.attributes.isMarked { plain += 1 }
        }
        last = end.key
      } catch let error as StorageError where error.code == .damaged {
        // Without its name, the values after a damaged one are not found.
        guard let key = error.key, last.map({ key > $0 }) ?? true else { throw error }
        damaged += 1
        last = key
      }
    }
  }
}
