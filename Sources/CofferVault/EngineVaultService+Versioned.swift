import Coffer
public import Foundation

extension EngineVaultService {
  /// Returns the bytes of a key with their revision, for ``saveDataIfUnchanged(_:forKey:since:transactionID:)``.
  /// - Throws: ``SwiftVaultError/readFailed(key:underlyingError:)`` and others;
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` where the engine has no revisions.
  public func loadVersionedData(forKey key: String) async throws -> Versioned<Data> {
    try await VaultOperation.load(key).run {
      let entry = try await engine.versionedEntry(scope.key(key))?.requiringPlain(at: engine.description)
      return Versioned(entry?.value, revision: entry?.revision)
    }
  }

  /// Stores bytes unless another writer has changed them since they were read.
  /// - Parameters:
  ///   - data: the bytes.
  ///   - key: the key of the bytes.
  ///   - revision: the revision at which they were read; `nil` if they were absent.
  ///   - transactionID: the logical change that the write belongs to.
  /// - Returns: the new revision of the bytes.
  /// - Throws: ``SwiftVaultError/writeFailed(key:underlyingError:)``, whose underlying `StorageError` has the code
  ///   `preconditionFailed` when they were changed; ``SwiftVaultError/unsupportedOperation(description:)`` where the
  ///   engine has no preconditions. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  @discardableResult
  public func saveDataIfUnchanged(
    _ data: Data, forKey key: String, since revision: StoreRevision?, transactionID: UUID
  ) async throws -> StoreRevision {
    try await VaultOperation.save(key).run {
      let name = try scope.key(key)
      let batch = WriteBatch([.require(name, revision), .put(name, data)], transaction: transactionID)
      return try await engine.commit(try engine.checkingConditions(batch), from: origin).revision
    }
  }
}
