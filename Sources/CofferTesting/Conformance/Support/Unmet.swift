import CofferCore

/// An expectation that did not hold. The suite converts it to a ``StorageConformance/Failure`` with the name of the
/// check.
struct Unmet: Error {
  let sentence: String
  let file: String
  let line: UInt
}

/// An error that ends a check that turns out not to apply.
struct Skip: Error {
  let reason: String
}

/// Runs `body` for at most `limit`, then cancels and abandons it.
func withDeadline<R: Sendable>(
  _ limit: Duration, _ what: String, file: String = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  let late = Unmet(sentence: "Expected \(what) within \(limit); it did not.", file: file, line: line)
  return try await withDeadline(limit, orThrow: late, body)
}
