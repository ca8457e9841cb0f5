import Dispatch

/// A hook for logging and metrics: what stores open, commit, repair, repeat and find damaged, never their values.
///
/// ```swift
/// var options = StoreOptions()
/// options.events = CofferEvents { event in
///   if case .committed(let commit) = event.kind { metrics.record(commit.duration, commit.bytes) }
///   logger.debug("\(event)")
/// }
/// ```
///
/// Set it before stores are opened: in `StoreOptions`, in `StorageConfiguration`, or in the configuration of one store.
/// An engine without it neither measures time nor creates events.
///
/// **Threads.** The handler is called outside of locks. Openings, failures, repeated transactions, and commits are told
/// in the caller's task before the call returns: a slow handler slows its callers, and no other one. Everything else
/// (damage, availability, checkpoints, waiting for locks, commits by the library itself or by a caller that cannot
/// suspend) is told soon afterwards, on one serial queue for each `CofferEvents`.
///
/// A handler may use the store, in a task or by a write that cannot suspend. It is told about its own commits too, so
/// one that writes after every commit has to tell them apart, for instance by another store.
public final class CofferEvents: Sendable {
  private let tracer: (any StoreTracer)?
  private let handler: @Sendable (StoreEvent) -> Void
  private let queue = DispatchQueue(label: "coffer.events", qos: .utility)
  private let lastSpan = Locked(UInt64(0))

  /// Creates a hook.
  /// - Parameters:
  ///   - tracer: receives the beginning and the end of operations; none by default.
  ///   - handler: called for each event, of any number of threads at once.
  public init(tracer: (any StoreTracer)? = nil, _ handler: @escaping @Sendable (StoreEvent) -> Void) {
    self.tracer = tracer
    self.handler = handler
  }

  /// Tells an event, in the task of the caller: for engines outside of this package.
  public func emit(_ event: StoreEvent) { handler(event) }

  /// Tells an event that belongs to a span.
  package func emit(_ event: StoreEvent, in span: StoreSpan?) {
    if let span { tracer?.event(event, in: span) }
    handler(event)
  }

  /// Tells an event on the queue, after those that were passed before. Can be called under a lock.
  package func emitLater(_ location: String, _ kind: StoreEvent.Kind) {
    queue.async { [handler] in handler(StoreEvent(location: location, kind)) }
  }

  /// Begins a span; returns `nil` without a tracer.
  package func begin(_ operation: StoreSpan.Operation, at location: String) -> StoreSpan? {
    guard let tracer else { return nil }
    let id = lastSpan.withLock { id in
      id += 1
      return id
    }
    let span = StoreSpan(id: id, operation: operation, location: location)
    tracer.begin(span)
    return span
  }

  package func end(_ span: StoreSpan?) {
    if let span { tracer?.end(span) }
  }
}
