/// The operation of a vault that failed, which determines how an engine's error maps to a ``SwiftVaultError``.
package enum VaultOperation: Sendable {
  case open
  case save(String)
  /// Several values, of which the engine's error names the one that failed.
  case saveBatch(String, KeyScope)
  case load(String)
  case remove(String)
  case clear

  @discardableResult
  package func run<R>(_ body: () async throws -> R) async throws -> R {
    do { return try await body() } catch { throw map(error) }
  }

  /// The synchronous variant of `run`.
  func runNow<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw map(error) }
  }

  private func map(_ error: any Error) -> any Error {
    if error is CancellationError || error is SwiftVaultError { return error }
    let stored = error as? StorageError
    switch (self, stored?.code) {
    case (.open, _): return SwiftVaultError.initializationFailed(Self.clause(error))
    case (_, .unsupported): return SwiftVaultError.unsupportedOperation(description: Self.clause(error))
    case (_, .permissionDenied), (_, .readOnly):
      return SwiftVaultError.backendError(reason: Self.clause(error), underlyingError: error)
    case (.save(let key), _): return SwiftVaultError.writeFailed(key: key, underlyingError: error)
    case (.saveBatch(let first, let scope), _):
      let key = stored?.key.flatMap(scope.name) ?? first
      return SwiftVaultError.writeFailed(key: key, underlyingError: error)
    case (.load(let key), _): return SwiftVaultError.readFailed(key: key, underlyingError: error)
    case (.remove(let key), _): return SwiftVaultError.deleteFailed(key: key, underlyingError: error)
    case (.clear, _): return SwiftVaultError.clearAllFailed(underlyingError: error)
    }
  }

  /// The error's text without its full stop, which the vault's texts add.
  private static func clause(_ error: any Error) -> String {
    let text = String(describing: error)
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}
