public import Foundation
public import Observation

/// The stores that failed to sync in this run of the application. Kept in memory only; the error that survives a
/// restart, with its cause, is `StoreDTO.lastSyncFailure`.
@MainActor @Observable
public final class BackgroundSyncState {
  /// The instance shared by the application.
  public static let shared = BackgroundSyncState()

  /// The newest error of each store that failed.
  public private(set) var storeErrors: [UUID: SyncError] = [:]

  init() {}

  /// Whether any store has an error.
  public var hasErrors: Bool { !storeErrors.isEmpty }

  /// A summary such as "1 store failed to sync" or "3 stores failed to sync"; `nil` without errors.
  public var errorSummary: String? {
    guard hasErrors else { return nil }
    return storeErrors.count == 1 ? "1 store failed to sync" : "\(storeErrors.count) stores failed to sync"
  }

  /// Records an error, replacing the store's previous one. `.rateLimited` is expected and is not recorded.
  public func recordError(_ error: SyncError, forStore storeId: UUID) {
    if case .rateLimited = error { return }
    storeErrors[storeId] = error
  }

  /// Clears a store's error.
  public func recordSuccess(forStore storeId: UUID) { storeErrors[storeId] = nil }

  /// Clears all errors.
  public func clearAllErrors() { storeErrors = [:] }
}
