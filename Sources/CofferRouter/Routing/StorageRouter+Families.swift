import Coffer

/// The members of a ``KeyFamily`` as a whole.
///
/// A listing throws `decodingFailed` for a name in the family's namespace that is not one of an id: something else has
/// written it, and no listing leaves a value out.
extension StorageRouter {
  /// Returns the ids of all members with a value, in the order of the bytes of their names, from one state of the
  /// store. Values are not read.
  /// - Throws: `StorageError`: `decodingFailed` for a name that is not one of an id, `unsupported` if the engine has no
  ///   listings.
  public nonisolated func ids<ID, Value>(of family: KeyFamily<ID, Value>) async throws -> [ID] {
    let resolved = try await resolve(family)
    return try await resolved.flushedEngine().summaries(prefix: resolved.record.key).map {
      try family.id($0.key, resolved)
    }
  }

  /// Returns a stream of all members, in the order of the bytes of their names, of which at most `pageSize` values are
  /// in memory at once.
  ///
  /// ```swift
  /// for try await (id, draft) in try await router.all(of: StorageKeys.drafts) { show(draft, id) }
  /// ```
  ///
  /// Each page is read from one state of the store. A member that is stored or removed meanwhile may be in the stream
  /// or not; one that exists all the time is in it once.
  /// - Parameters:
  ///   - family: the family.
  ///   - pageSize: the maximum number of members that are read at once; 256 by default.
  /// - Throws: `StorageError` when the store cannot be opened. The stream throws `decodingFailed` for a value or a name
  ///   that is not one of the family, `unsupported` if the engine has no listings, and any error of reading.
  public nonisolated func all<ID, Value>(
    of family: KeyFamily<ID, Value>, pageSize: Int = 256
  ) async throws -> AsyncThrowingStream<(id: ID, value: Value), any Error> {
    let resolved = try await resolve(family)
    try await resolved.store.flush()
    let pages = KeyFamilyPages(self, resolved, family, pageSize: max(1, pageSize))
    return AsyncThrowingStream { try await pages.next() }
  }

  /// Removes all values in the namespace of a family, in one commit. It does nothing if there are none.
  /// - Throws: `StorageError`: `unsupported` if the engine cannot clear a prefix. Nothing was removed, unless the code
  ///   is `outcomeUnknown` or `unfinished`.
  public nonisolated func removeAll<ID, Value>(of family: KeyFamily<ID, Value>) async throws {
    let resolved = try await resolve(family)
    try await resolved.store.write(WriteBatch([resolved.record.removal]), [], resolved.traits)
  }

  /// Returns the number of the members with a value, their total size and the date of the last change, without reading
  /// the values.
  /// - Throws: `StorageError`: `unsupported` if the engine has no listings.
  public nonisolated func summary<ID, Value>(of family: KeyFamily<ID, Value>) async throws
    -> StorageRouter.FamilySummary
  {
    let resolved = try await resolve(family)
    return try await resolved.store.familySummary(resolved.record.key)
  }

  /// Returns the changes of the members of a family from now on, by any writer: one element for each commit. Each call
  /// returns a new stream, which is subscribed when the call returns and ends when the store is closed.
  /// - Throws: `StorageError` when the store cannot be opened.
  public nonisolated func changes<ID, Value>(
    of family: KeyFamily<ID, Value>
  ) async throws -> AsyncStream<KeyFamilyChange<ID>> {
    let resolved = try await resolve(family)
    let (changes, origin) = (resolved.store.engine.changes(since: nil), resolved.store.origin)
    return AsyncStream {
      for await change in changes {
        if let change = family.change(change, resolved, isOwn: { $0 == origin }) { return change }
      }
      return nil
    }
  }

  /// Overrides the declared sync policy of a family, persistently; `nil` removes the override.
  /// - Throws: `StorageError`, as ``setSyncPolicy(_:for:)-(_,K)`` does.
  public func setSyncPolicy<ID, Value>(_ policy: SyncPolicy?, for family: KeyFamily<ID, Value>) async throws {
    try await setSyncPolicy(policy, for: family.declaration)
  }

  /// Returns the current sync policy of a family: the declared one, unless it was overridden.
  /// - Throws: `StorageError`, as ``syncPolicy(for:)-(K)`` does.
  public func syncPolicy<ID, Value>(for family: KeyFamily<ID, Value>) async throws -> SyncPolicy {
    try await syncPolicy(for: family.declaration)
  }

  private nonisolated func resolve<ID, Value>(_ family: KeyFamily<ID, Value>) async throws -> ResolvedKey {
    try await resolve(declaration: family.declaration)
  }
}

extension KeyRegistry.Record {
  /// The operation that removes what is stored under the declaration: one value, or all values of a family.
  var removal: WriteBatch.Operation { isFamily ? .clear(prefix: key) : .delete(key) }
}

/// The position of a stream of members: the page that is being delivered, and the key after which the next one begins.
private actor KeyFamilyPages<ID: KeyFamilyID, Value: Sendable> {
  private let router: StorageRouter
  private let resolved: StorageRouter.ResolvedKey
  private let family: KeyFamily<ID, Value>
  private let coder: DeclaredCoder<Value>
  private let pageSize: Int
  private var page: ArraySlice<StoreEntry> = []
  private var last: KeyName?

  init(
    _ router: StorageRouter, _ resolved: StorageRouter.ResolvedKey, _ family: KeyFamily<ID, Value>, pageSize: Int
  ) {
    (self.router, coder) = (router, resolved.coder(of: family.declaration))
    (self.resolved, self.family, self.pageSize) = (resolved, family, pageSize)
  }

  func next() async throws -> (id: ID, value: Value)? {
    if page.isEmpty {
      page = try await nextPage()
    }
    guard let entry = page.popFirst() else { return nil }
    last = entry.key
    return (
      try family.id(entry.key, resolved),
      try coder.value(from: EncodedValue(entry), of: resolved.member(entry.key))
    )
  }

  private func nextPage() async throws -> ArraySlice<StoreEntry> {
    let (store, prefix) = (resolved.store, resolved.record.key)
    return try await store.reading {
      try await store.engine.withSnapshot { [last, pageSize, resolved] in
        let page = try await $0.page(prefix: prefix, after: last, limit: pageSize)
        for entry in page { try resolved.member(entry.key).requirePresent(entry.attributes) }
        return page[...]
      }
    } damaged: { error in
      guard let key = error.key, key.hasPrefix(prefix) else { throw error }
      try await router.handle(error, of: family.member(key), resolved.member(key))
    }
  }
}

extension KeyFamily {
  /// Returns the key of a stored name.
  fileprivate func member(_ key: KeyName) -> KeyFamilyMember<Value> {
    KeyFamilyMember(name: key.string, template: template, namespace: namespace)
  }

  /// Returns the id of a stored name.
  fileprivate func id(_ key: KeyName, _ resolved: StorageRouter.ResolvedKey) throws -> ID {
    if let id = id(key) { return id }
    throw StorageError(
      .decodingFailed,
      "The name of a value in the family '\(namespace.name.escapingControlCharacters)' is not one of "
        + "an id of the type \(namespace.idType). Something else has written it; it is kept.",
      advice: "Remove it, or declare the family with a type of ids that includes it.",
      location: resolved.store.engine.description, key: key)
  }

  private func id(_ key: KeyName) -> ID? {
    let text = String(Substring(key.string.utf8.dropFirst(prefix.utf8.count)))
    // Several texts can be parsed as one id, such as "7" and "+7", of which only one is its text.
    guard !text.utf8.isEmpty, let id = ID(keyText: text), id.keyText.utf8.elementsEqual(text.utf8) else { return nil }
    return id
  }

  fileprivate func change(
    _ change: StoreChange, _ resolved: StorageRouter.ResolvedKey, isOwn: (StoreOrigin?) -> Bool
  ) -> KeyFamilyChange<ID>? {
    guard case .commit(let commit) = change else { return .reload(upTo: change.revision) }
    let (prefix, changed) = (resolved.record.key, commit.changed)
    guard !changed.isEverything, !changed.prefixes.contains(where: { $0.hasPrefix(prefix) || prefix.hasPrefix($0) })
    else { return .reload(upTo: commit.revision) }
    var ids: [ID] = []
    var seen: Set<KeyName> = []
    for key in changed.keys where key.hasPrefix(prefix) && seen.insert(key).inserted {
      guard let id = id(key) else { return .reload(upTo: commit.revision) }  // The listing reports the name.
      ids.append(id)
    }
    guard !ids.isEmpty else { return nil }
    return .changed(
      ids: ids, revision: commit.revision, transaction: commit.transaction, isOwn: isOwn(commit.origin))
  }
}

extension TypedStore {
  /// Returns the summary of all values whose keys start with a prefix, from one state, with one page in memory at once.
  func familySummary(_ prefix: KeyName) async throws -> StorageRouter.FamilySummary {
    try await flush()
    return try await engine.withSnapshot { snapshot in
      var summary = StorageRouter.FamilySummary([])
      var last: KeyName?
      while true {
        let page = try await snapshot.summaries(prefix: prefix, after: last, limit: 1_000)
        guard let end = page.last else { return summary }
        for member in page { summary.add(member) }
        last = end.key
      }
    }
  }
}
