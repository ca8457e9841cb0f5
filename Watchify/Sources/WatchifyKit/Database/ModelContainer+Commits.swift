import CofferSQLite

extension ModelContainer {
  /// Returns a stream with an element after each commit of any process, until the database is closed. Commits that
  /// follow each other before the element is taken share one.
  public func commits() -> AsyncStream<Void> {
    let changes = database.engine.changes(since: nil)
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        for await _ in changes { continuation.yield() }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
