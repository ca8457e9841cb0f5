extension CofferEvents {
  /// Runs an operation as a span, and tells its failure.
  package func span<R>(
    _ operation: StoreSpan.Operation, at location: String, transaction: TransactionID? = nil,
    _ body: (StoreSpan?, ContinuousClock.Instant) async throws -> R
  ) async throws -> R {
    let span = begin(operation, at: location)
    defer { end(span) }
    let start = ContinuousClock.now
    do {
      return try await body(span, start)
    } catch {
      emit(Self.failure(operation, error, transaction, since: start, at: location), in: span)
      throw error
    }
  }

  /// Runs an operation that does not suspend as a span, and tells its failure.
  fileprivate func spanNow<R>(
    _ operation: StoreSpan.Operation, at location: String,
    _ body: (StoreSpan?, ContinuousClock.Instant) throws -> R
  ) throws -> R {
    let span = begin(operation, at: location)
    defer { end(span) }
    let start = ContinuousClock.now
    do {
      return try body(span, start)
    } catch {
      emit(Self.failure(operation, error, nil, since: start, at: location), in: span)
      throw error
    }
  }

  /// Commits a batch with `body` and tells the outcome. A batch that changes nothing is no commit.
  package func commit(
    _ batch: WriteBatch, to engine: some StorageEngine, _ body: () async throws -> StoreCommit
  ) async throws -> StoreCommit {
    try await span(.commit, at: engine.description, transaction: batch.transaction) { span, start in
      let commit = try await body()
      if let event = Self.commit(commit, batch, since: start, engine) { emit(event, in: span) }
      return commit
    }
  }

  /// Returns a handler of the outcome of a batch that tells it on the queue, then calls `completion`.
  package func emitting(
    _ batch: WriteBatch, to engine: some StorageEngine,
    _ completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) -> @Sendable (Result<StoreCommit, any Error>) -> Void {
    let start = ContinuousClock.now
    return { [self] result in
      switch result {
      case .success(let commit):
        if let event = Self.commit(commit, batch, since: start, engine) { emitLater(event.location, event.kind) }
      case .failure(let error):
        let event = Self.failure(.commit, error, batch.transaction, since: start, at: engine.description)
        emitLater(event.location, event.kind)
      }
      completion(result)
    }
  }

  /// Returns the event of a commit; `nil` if it changed nothing.
  private static func commit(
    _ commit: StoreCommit, _ batch: WriteBatch, since start: ContinuousClock.Instant, _ engine: some StorageEngine
  ) -> StoreEvent? {
    guard !commit.changed.isEmpty else { return nil }
    let hidesSizes = engine.capabilities.contains(.secrecy)
    return StoreEvent(
      location: engine.description,
      .committed(
        StoreEvent.Commit(
          commit, batch, batch.durability, since: start, hidesSizes: hidesSizes)))
  }

  private static func failure(
    _ operation: StoreSpan.Operation, _ error: any Error, _ transaction: TransactionID?,
    since start: ContinuousClock.Instant, at location: String
  ) -> StoreEvent {
    StoreEvent(
      location: location,
      .failed(
        StoreEvent.Failure(
          operation, code: (error as? StorageError)?.code, transaction: transaction, duration: .now - start)))
  }
}

extension StoreEvent.Commit {
  /// Creates the facts of a commit that took the time since `start`.
  package init(
    _ commit: StoreCommit, _ batch: WriteBatch, _ durability: StoreDurability,
    since start: ContinuousClock.Instant, isSweep: Bool = false, hidesSizes: Bool = false
  ) {
    let hasConditions = batch.traits.contains(.conditions)
    self.init(
      revision: commit.revision, transaction: commit.transaction,
      operations: hasConditions ? batch.operations.count { !$0.isPrecondition } : batch.operations.count,
      bytes: hidesSizes ? nil : batch.size, durability: durability, duration: .now - start,
      groupSize: commit.groupSize, isSweep: isSweep)
  }
}

extension WriteBatch.Operation {
  fileprivate var isPrecondition: Bool {
    switch self {
    case .require, .requireRecord: true
    case .put, .delete, .clear, .putRecord, .deleteRecord: false
    }
  }
}

extension CofferEvents? {
  /// Opens a store and tells its opening, or the failure.
  /// - Parameters:
  ///   - location: the location for a failure; that of the opened store may be a canonical form of it.
  ///   - isReadOnly: returns whether the store was opened for reading only.
  package func opening<E: StorageEngine>(
    at location: @autoclosure () -> String, isReadOnly: (E) -> Bool, _ open: () async throws -> E
  ) async throws -> E {
    guard let events = self else { return try await open() }
    return try await events.span(.open, at: location()) { span, start in
      let engine = try await open()
      events.emit(StoreEvent(engine, isReadOnly: isReadOnly(engine), since: start), in: span)
      return engine
    }
  }

  /// Opens a store on the caller's thread and tells its opening, or the failure.
  package func openingNow<E: StorageEngine>(
    at location: @autoclosure () -> String, isReadOnly: (E) -> Bool, _ open: () throws -> E
  ) throws -> E {
    guard let events = self else { return try open() }
    return try events.spanNow(.open, at: location()) { span, start in
      let engine = try open()
      events.emit(StoreEvent(engine, isReadOnly: isReadOnly(engine), since: start), in: span)
      return engine
    }
  }
}

extension StoreEvent {
  fileprivate init(_ engine: some StorageEngine, isReadOnly: Bool, since start: ContinuousClock.Instant) {
    self.init(
      location: engine.description,
      .opened(Opening(revision: engine.latestRevision, isReadOnly: isReadOnly, duration: .now - start)))
  }
}
