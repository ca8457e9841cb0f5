import Foundation
import Testing

/// Repeats `attempt` until it returns `true` or the deadline has passed.
func eventually(
  _ what: Comment, within limit: Duration = .seconds(240), sourceLocation: SourceLocation = #_sourceLocation,
  _ attempt: () async throws -> Bool
) async throws {
  let start = ContinuousClock.now
  while try await !attempt() {
    try #require(ContinuousClock.now - start < limit, what, sourceLocation: sourceLocation)
    try await Task.sleep(for: .milliseconds(10))
  }
}
