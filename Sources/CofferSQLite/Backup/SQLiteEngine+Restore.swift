public import CofferCore
import Foundation

/// The options with which a backup is restored.
public struct RestoreOptions: Sendable {
  /// Whether the store is replaced even if it is open. Its open handles then end with `closed` within about a second.
  public var takesOver = false

  /// Whether the replaced state is kept in a file beside the store; see ``RestoreReport/replaced``.
  public var keepsReplaced = true

  /// Called after each step, for tests that kill the process there.
  package var atStep: (@Sendable (RestoreStep) -> Void)?

  /// Creates the default options: a store that is open is not replaced, and the replaced state is kept.
  public init() {}
}

/// The result of a restoration.
public struct RestoreReport: Hashable, Sendable {
  /// The canonical path of the store.
  public let path: String
  /// The revision of the restored store, greater than every revision that it had assigned before.
  public let revision: StoreRevision
  /// The number of values in the store.
  public let values: Int
  /// The total size of the values in bytes.
  public let valueBytes: Int
  /// The path of the file that keeps the replaced state; `nil` if there was none, or if it was not kept.
  public let replaced: String?

  package init(path: String, revision: StoreRevision, values: Int, valueBytes: Int, replaced: String?) {
    self.path = path
    self.revision = revision
    self.values = values
    self.valueBytes = valueBytes
    self.replaced = replaced
  }
}

/// A step of a restoration.
package enum RestoreStep: String, CaseIterable, Sendable {
  /// The backup was copied beside the store.
  case copied
  /// The copy was verified, has a new epoch, and was synced.
  case prepared
  /// The store was locked against other users, or against other writers if it is taken over.
  case locked
  /// The replaced state was kept, if ``RestoreOptions/keepsReplaced`` is set.
  case kept
  /// The new state was published at the path of the store.
  case placed
  /// The wake-up file of the replaced store was removed or updated.
  case finished
}

extension SQLiteEngine {
  /// Replaces a store with a backup, or creates a store from it if there is none.
  ///
  /// The backup is copied beside the store and verified as a whole before the store is touched. A process that is
  /// killed at any moment leaves either the old state or the new one. The store begins a new epoch: subscribers that
  /// resume from a position in the old one receive a request to reload.
  /// - Parameters:
  ///   - backup: the path of a file made by ``backup(to:overwrite:progress:)-(String,_,_)``, or of any store. It is
  ///     not changed.
  ///   - path: the path of the store.
  ///   - options: what happens to a store that is open, and to the replaced state.
  ///   - progress: called on a background thread after each step of about 1 MiB.
  /// - Throws: `StorageError`: `damaged`, `notAStore`, `newerFormat` or `notFound` for the backup; `busy` if the store
  ///   is open; `diskFull`; `permissionDenied`. `CancellationError` if the task is cancelled. The store is unchanged
  ///   in all these cases.
  @discardableResult
  public static func restore(
    from backup: String, to path: String, options: RestoreOptions = RestoreOptions(),
    progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> RestoreReport {
    try await BackupWork.run(progress) { work in
      try Restoration(from: backup, to: path, options: options, work: work).run()
    }
  }
}
