package import CofferCore
package import Testing

/// Expects a `StorageError` and returns it; `nil` if the expectation failed.
/// - Parameters:
///   - code: the expected code.
///   - text: a part of the error's description; empty for any.
///   - prefix: the beginning of the error's location; empty for any.
@discardableResult
package func expectStorageError(
  _ code: StorageError.Code, contains text: String = "", at prefix: String = "",
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> StorageError? {
  do {
    try await body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch let error as StorageError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    #expect(text.isEmpty || error.description.contains(text), "\(error)", sourceLocation: sourceLocation)
    #expect(prefix.isEmpty || error.location.hasPrefix(prefix), "\(error)", sourceLocation: sourceLocation)
    #expect(!error.message.isEmpty, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("\(error) is not a StorageError", sourceLocation: sourceLocation)
  }
  return nil
}
