/// Stands for a store that could not be opened, where opening must not throw: every use of it throws why.
///
/// Reads throw, so that nobody takes it for an empty store.
public final class UnavailableEngine: StorageEngine {
  private let error: StorageError
  private let feed: AvailabilityFeed
  public let description: String
  public let capabilities = Capabilities([], maximumValueSize: .max)
  public let latestRevision = Revision.zero

  /// An engine that throws `error`; one that is no ``StorageError`` becomes the cause of an `unavailable`.
  public init(_ error: any Error, description: String) {
    self.description = description
    let reason =
      (error as? StorageError)?.locating(backend: description)
      ?? StorageError(
        .unavailable, "The store could not be opened.", backend: description,
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: String(describing: error)))
    self.error = reason
    feed = AvailabilityFeed(.unavailable(reason: reason.message))
  }

  public func commit(_ batch: WriteBatch, from origin: Origin) async throws -> Commit { throw error }

  public func entries(_ keys: [Key]) async throws -> [Entry?] { throw error }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R { throw error }

  public func changes(since revision: Revision?) -> AsyncStream<Change> { AsyncStream { nil } }

  public func availability() -> AsyncStream<Availability> { feed.subscribe() }

  public func flush() async throws { throw error }

  public func close() async throws { feed.finish() }
}
