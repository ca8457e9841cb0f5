public import Foundation

/// Bytes by key (document 0): the same calls over every home.
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
  /// Stores bytes under a key, replacing what was there, as part of a logical change.
  ///
  /// Several saves may carry the same transaction id.
  func saveData(_ data: Data, forKey key: String, transactionID: UUID) async throws
  /// The bytes of a key; `nil` only when it is proven that there are none.
  func loadData(forKey key: String) async throws -> Data?
  /// Removes the bytes of a key. A missing key is no error.
  func remove(forKey key: String) async throws
  /// Whether there are bytes. It cannot throw, so it says `false` only for what is proven absent.
  func exists(forKey key: String) async -> Bool
  /// Removes everything that this service's store holds.
  func clearAll() async throws
  /// What others write from now on: a key, or `nil` when many may have changed, and the transaction if it is known.
  ///
  /// Each access gives a stream of its own, and each stream delivers every change.
  nonisolated var externalChanges: AsyncStream<(key: String?, transactionID: UUID?)> { get }
}
