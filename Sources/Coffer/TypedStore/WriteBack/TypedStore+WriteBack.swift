extension TypedStore {
  /// Commits a batch without preconditions, or adds it to the pending writes if the store has write-back.
  @inline(__always)  // one frame less for each write
  package func write(
    _ batch: WriteBatch, _ written: [(key: KeyName, box: (any AnyBox)?)], _ traits: ValueTraits
  ) async throws {
    guard let pending else {
      try await commit(batch, written, traits)
      return
    }
    if !mustBeCommitted(batch, traits), try await pending.write(batch, written) { return }
    let selection = batch.selection
    try await pending.flush(selection.isEverything || !selection.prefixes.isEmpty ? nil : selection.keys)
    try await commit(batch, written, traits)
  }

  /// Whether a batch cannot be pending: the store is open for reading only, the transaction of the batch would be lost,
  /// the user is asked for one of its values, which must not be in memory, a value has versions, so that one of a newer
  /// version must be refused to the caller, or it removes keys by their prefix.
  private func mustBeCommitted(_ batch: WriteBatch, _ traits: ValueTraits) -> Bool {
    guard !engine.isReadOnly, batch.transaction == nil, traits.isDisjoint(with: [.guarded, .immediate]) else {
      return true
    }
    let schema = traits.contains(.versioned) ? coding.schema : nil
    return batch.operations.contains { operation in
      switch operation {
      case .put(let key, _, let attributes): attributes.askUser || schema?[key] != nil
      case .delete(let key): schema?[key] != nil
      default: true
      }
    }
  }

  /// Adds a value with nothing rare to the pending writes, without a batch.
  /// - Returns: `false` if it must be written as a batch: it is committed at once, or after a flush, or refused.
  func addToPending(_ value: ReadyValue, _ durability: StoreDurability) throws -> Bool {
    guard let pending, value.traits.isEmpty, !engine.isReadOnly else { return false }
    return try pending.put(value.key, value.encoded, value.box, durability)
  }

  /// The writes that are not committed yet; none for a store without write-back.
  ///
  /// A commit that fails keeps its writes: reads of this store still see them, and they are committed with the next
  /// window or flush that succeeds. `failure` is the error, which names their keys.
  public var pendingWrites: PendingWrites { pending?.pendingWrites ?? PendingWrites(count: 0, bytes: 0, failure: nil) }

  /// Commits every write that was accepted before this call, with the durability that each has requested. Returns at
  /// once for a store without write-back, which has none.
  ///
  /// Cancelling the task does not end the commit.
  /// - Throws: `StorageError`, whose message names the keys of the writes that are not committed and stay pending;
  ///   `unfinished` if ``discardPendingWrites()`` has given them up meanwhile.
  public func flush() async throws { try await pending?.flush() }

  /// Gives up the writes that are not committed, for example when the disk stays full. Reads return the stored values
  /// again. Waits for a commit that is under way, whose writes are not given up if it succeeds.
  /// - Returns: the keys of the writes that were given up.
  @discardableResult
  public func discardPendingWrites() async -> [KeyName] { await pending?.discard() ?? [] }

  /// Commits the pending writes and closes the engine, with all other stores over it.
  /// - Throws: `StorageError` if that fails. If writes are still pending, the engine stays open.
  public func close() async throws {
    try await pending?.close()
    try await engine.close()
  }
}
