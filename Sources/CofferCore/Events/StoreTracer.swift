/// An operation of a store that takes time, from its beginning to its end.
public struct StoreSpan: Hashable, Sendable, Identifiable {
  /// A kind of operation.
  public enum Operation: String, Hashable, Sendable {
    /// Opening a store.
    case open
    /// Committing a batch.
    case commit
    /// A transaction over keys with all its attempts, or a transaction of a database. The commits of the former are
    /// spans of their own.
    case transaction
    /// Copying the write-ahead log into the database file.
    case checkpoint
    /// Replacing the keys of an encrypted store by itself. It is no span, since it is done by many commits.
    case rotation
    /// Removing the remains of destroyed keys by itself, which an earlier process did not finish. It is no span.
    case shredding
    /// Updating the anchor of an encrypted store by itself. It is no span. Each failure is told until an update
    /// succeeds.
    case anchoring
  }

  /// The number of the span, unique within its ``CofferEvents``.
  public let id: UInt64
  /// The kind of operation.
  public let operation: Operation
  /// The location of the store: `sqlite:/var/lib/app.db`.
  public let location: String
}

/// A receiver of spans, shaped like `os_signpost`: a beginning, events and an end.
///
/// ```swift
/// struct Signposts: StoreTracer {
///   let log: SignpostLog
///   func begin(_ span: StoreSpan) { log.begin(span.operation.rawValue, id: span.id) }
///   func event(_ event: StoreEvent, in span: StoreSpan) { log.event(event.description, id: span.id) }
///   func end(_ span: StoreSpan) { log.end(span.operation.rawValue, id: span.id) }
/// }
/// ```
///
/// Every span that begins ends, also after an error. Spans of an opening, a commit and a transaction begin and end in
/// the task of their caller, so that task-local values are those of the caller. The span of a checkpoint begins and
/// ends on a queue of the store. Writes of callers that cannot suspend have none. The methods are called outside of
/// locks and must return soon: the operation waits.
public protocol StoreTracer: Sendable {
  /// Called when an operation begins.
  func begin(_ span: StoreSpan)
  /// Called for each event of an operation, such as its commit, its failure, or a repetition.
  func event(_ event: StoreEvent, in span: StoreSpan)
  /// Called when an operation has ended.
  func end(_ span: StoreSpan)
}
