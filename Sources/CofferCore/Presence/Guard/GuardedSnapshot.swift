/// A snapshot that asks for the confirmations that values require before it reads them, once for each access control.
/// Its summaries ask for nothing.
package struct GuardedSnapshot: StorageSnapshot {
  private struct State {
    var granted: Set<KeychainAccessControl>
    /// The errors of the values that were refused: the user is not asked again for the same snapshot.
    var refused: [KeyName: any Error] = [:]
  }

  private let base: any StorageSnapshot
  private let reads: ReadGuard
  private let location: String
  private let state: Locked<State>

  package init(
    _ base: any StorageSnapshot, _ reads: ReadGuard, in location: String, granted: Set<KeychainAccessControl> = []
  ) {
    self.base = base
    self.reads = reads
    self.location = location
    state = Locked(State(granted: granted))
  }

  package var revision: StoreRevision { base.revision }

  package func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    for key in keys {
      if let summary = try await base.summary(of: key) { try await permit(key, summary.attributes) }
    }
    let entries = try await base.entries(keys)
    for case let entry? in entries { try await permit(entry.key, entry.attributes) }
    return entries
  }

  package func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    var count = limit
    for (index, listed) in try await base.summaries(prefix: prefix, after: after, limit: limit).enumerated() {
      do {
        try await permit(listed.key, listed.attributes)
      } catch {
        // Return the entries before a value that was refused; the next page throws its error.
        guard index > 0, !(error is CancellationError) else { throw error }
        count = index
        break
      }
    }
    let entries = try await base.page(prefix: prefix, after: after, limit: count)
    for entry in entries { try await permit(entry.key, entry.attributes) }
    return entries
  }

  package func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key) }

  package func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await base.summaries(prefix: prefix, after: after, limit: limit)
  }

  private func permit(_ key: KeyName, _ attributes: ValueAttributes) async throws {
    let (known, refusal) = state.withLock { ($0.granted, $0.refused[key]) }
    if let refusal { throw refusal }
    var granted = known
    do {
      try await reads.permit(key, attributes, granted: &granted, in: location)
    } catch {
      if !(error is CancellationError) { state.withLock { $0.refused[key] = error } }
      throw error
    }
    if granted != known { state.withLock { [granted] in $0.granted.formUnion(granted) } }
  }
}
