public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The reason why a store could not be synced, with display texts. The stored data stays valid in every case.
///
/// ``SyncFailure`` tells the cause of two of the cases, with texts of its own.
///
/// ```swift
/// do { try await service.syncStore(storeId: id) } catch SyncError.networkUnavailable { showBanner() }
/// ```
public enum SyncError: Error, Hashable, Sendable {
  /// The store is not in the database.
  case storeNotFound
  /// Less than a minute has passed since the last attempt.
  case rateLimited(retryAfter: TimeInterval)
  /// The device is offline, or no connection to the shop could be kept.
  case networkUnavailable
  /// The request took too long.
  case networkTimeout
  /// HTTP 5xx.
  case serverError(statusCode: Int)
  /// The response was not a product listing, or not a whole one.
  case invalidResponse
}

extension SyncError {
  /// Converts any error to a sync error. An error that has no corresponding case becomes `.invalidResponse`.
  public static func from(_ error: any Error) -> SyncError {
    switch error {
    case let error as SyncError: return error
    case let failure as SyncFailure: return failure.error
    case let error as URLError where error.code == .notConnectedToInternet || error.code == .networkConnectionLost:
      return .networkUnavailable
    case let error as URLError where error.code == .timedOut: return .networkTimeout
    case ShopifyAPIError.httpError(let status) where (500...599).contains(status):
      return .serverError(statusCode: status)
    default: return .invalidResponse
    }
  }
}

extension SyncError: LocalizedError {
  /// A short title, such as "No connection".
  public var errorDescription: String? { SyncFailure.from(self).errorDescription }
  /// A sentence that describes what happened.
  public var failureReason: String? { SyncFailure.from(self).failureReason }
  /// A sentence that advises what to do next.
  public var recoverySuggestion: String? { SyncFailure.from(self).recoverySuggestion }
  /// The name of an SF Symbol for user interfaces.
  public var iconName: String { SyncFailure.from(self).iconName }
}
