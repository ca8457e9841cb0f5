public import Foundation

/// An error thrown by a vault.
///
/// In the vaults of this package the underlying error, where a case has one, is a `StorageError`, whose `code`
/// identifies the cause.
///
/// Two errors are equal when their case and texts are equal and both have, or both lack, an underlying error.
/// Underlying errors are not compared, since errors in general are not `Equatable`.
public enum SwiftVaultError: Error {
  /// The value of a key could not be read; whether there is one is unknown.
  case readFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not stored.
  case writeFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not removed.
  case deleteFailed(key: String, underlyingError: (any Error)? = nil)
  /// The store was not cleared.
  case clearAllFailed(underlyingError: (any Error)? = nil)
  /// The store could not be opened.
  case initializationFailed(String)
  /// The store does not support the operation.
  case unsupportedOperation(description: String)
  /// The store or the operating system failed for another reason: a denied permission, or a store that is open for
  /// reading only.
  case backendError(reason: String, underlyingError: (any Error)? = nil)
  /// The shared container of an app group is not available.
  case appGroupContainerUnavailable(appGroupId: String, underlyingError: (any Error)? = nil)
}

extension SwiftVaultError: LocalizedError {
  public var errorDescription: String? { "SwiftVaultError: \(summary)" }

  /// The message of the underlying error, which `errorDescription` omits because its texts are fixed by the contract.
  public var failureReason: String? { underlying.map { ($0 as? StorageError)?.message ?? $0.localizedDescription } }

  /// The advice of the underlying `StorageError`, or `nil` if there is none.
  public var recoverySuggestion: String? { (underlying as? StorageError)?.recoverySuggestion }

  private var summary: String {
    switch self {
    case .readFailed(let key, _): "Read failed for key '\(key)'."
    case .writeFailed(let key, _): "Write failed for key '\(key)'."
    case .deleteFailed(let key, _): "Delete failed for key '\(key)'."
    case .clearAllFailed: "Clear all failed."
    case .initializationFailed(let message): "Initialization failed - \(message)."
    case .unsupportedOperation(let description): "Unsupported operation - \(description)."
    case .backendError(let reason, _): "Backend error - \(reason)."
    case .appGroupContainerUnavailable(let id, _): "App Group container unavailable for ID \(id)."
    }
  }

  private var underlying: (any Error)? {
    switch self {
    case .readFailed(_, let error), .writeFailed(_, let error), .deleteFailed(_, let error),
      .clearAllFailed(let error), .backendError(_, let error), .appGroupContainerUnavailable(_, let error):
      error
    case .initializationFailed, .unsupportedOperation: nil
    }
  }
}

extension SwiftVaultError: Equatable {
  public static func == (left: SwiftVaultError, right: SwiftVaultError) -> Bool {
    // The texts differ in the case and in all that it has besides its error.
    left.summary == right.summary && (left.underlying == nil) == (right.underlying == nil)
  }
}
