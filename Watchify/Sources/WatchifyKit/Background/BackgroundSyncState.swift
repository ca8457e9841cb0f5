public import Foundation
public import Observation

/// Which stores failed to sync in this run of the application (document 2). In memory; what must survive a restart is
/// kept with the store (`StoreDTO.lastError`).
@MainActor @Observable
public final class BackgroundSyncState {
  /// The one of the application.
  public static let shared = BackgroundSyncState()

  /// The newest error of each store that failed.
  public private(set) var storeErrors: [UUID: SyncError] = [:]

  init() {}

  /// Whether any store has an error.
  public var hasErrors: Bool { !storeErrors.isEmpty }

  /// "1 store failed to sync", "3 stores failed to sync"; `nil` without errors.
  public var errorSummary: String? {
    guard hasErrors else { return nil }
    return storeErrors.count == 1 ? "1 store failed to sync" : "\(storeErrors.count) stores failed to sync"
  }

  /// Keeps an error. Being asked to wait is none.
  public func recordError(_ error: SyncError, forStore storeId: UUID) {
    if case .rateLimited = error { return }
    storeErrors[storeId] = error
  }

  /// Clears a store's error.
  public func recordSuccess(forStore storeId: UUID) { storeErrors[storeId] = nil }

  /// Clears all errors.
  public func clearAllErrors() { storeErrors = [:] }
}
