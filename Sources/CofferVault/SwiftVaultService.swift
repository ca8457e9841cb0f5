public import Foundation

/// A service that stores bytes by key, with the same calls over every kind of store.
///
/// ```swift
/// let service = SwiftVault.memory()
/// let transactionID = UUID()
/// try await service.saveData(Data("dark".utf8), forKey: "theme", transactionID: transactionID)
/// let theme = try await service.loadData(forKey: "theme")
/// ```
///
/// All methods throw ``SwiftVaultError``, or `CancellationError` when the task was cancelled.
public protocol SwiftVaultService: Sendable {
  /// Stores bytes under a key, replacing any existing ones, as part of a logical change.
  ///
  /// Several saves may carry the same transaction id; each is a separate commit.
  func saveData(_ data: Data, forKey key: String, transactionID: UUID) async throws
  /// Returns the bytes of a key, or `nil` only when they are proven absent.
  func loadData(forKey key: String) async throws -> Data?
  /// Removes the bytes of a key. Removing a missing key is not an error.
  func remove(forKey key: String) async throws
  /// Returns whether a key has bytes. Since it cannot throw, it returns `false` only when they are proven absent.
  func exists(forKey key: String) async -> Bool
  /// Removes all keys of this service.
  func clearAll() async throws
  /// The changes made by other writers from now on.
  ///
  /// An element is the changed key, or `nil` when many keys may have changed, and the transaction if it is known.
  /// Each access returns a new stream, and each stream delivers every change.
  nonisolated var externalChanges: AsyncStream<(key: String?, transactionID: UUID?)> { get }
}
