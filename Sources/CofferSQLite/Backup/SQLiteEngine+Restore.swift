public import CofferCore
import Foundation

/// How a backup is put back.
public struct RestoreOptions: Sendable {
  /// Whether the state is replaced although the store is open somewhere: the handles that are open then end with
  /// `closed`, within about a second.
  public var takesOver = false

  /// Whether what was there is kept beside the store, under the name that the report says.
  public var keepsReplaced = true

  /// Called after each step: where tests kill the process.
  package var atStep: (@Sendable (RestoreStep) -> Void)?

  /// The usual settings: refuse to replace a store that is open, and keep what is replaced.
  public init() {}
}

/// What was put back.
public struct RestoreReport: Hashable, Sendable {
  /// The canonical path of the store.
  public let path: String
  /// The store's revision now: beyond every number that it had given out before.
  public let revision: StoreRevision
  /// How many values it holds.
  public let values: Int
  /// The sum of their sizes in bytes.
  public let valueBytes: Int
  /// Where what was there before is kept; `nil` when nothing was, or it was not to be kept.
  public let replaced: String?

  package init(path: String, revision: StoreRevision, values: Int, valueBytes: Int, replaced: String?) {
    self.path = path
    self.revision = revision
    self.values = values
    self.valueBytes = valueBytes
    self.replaced = replaced
  }
}

/// Where a restoration is.
package enum RestoreStep: String, CaseIterable, Sendable {
  /// The backup was copied beside the store.
  case copied
  /// The copy is whole, has its own history, and has survived power loss.
  case prepared
  /// Nobody else can use the store, or write to it.
  case locked
  /// What was there is kept.
  case kept
  /// The new state is in its place.
  case placed
  /// Nothing is left of the old one's wake-up file.
  case finished
}

extension SQLiteEngine {
  /// Puts a backup in the place of a store, or makes a store of it where there is none.
  ///
  /// The backup is copied beside the store and checked as a whole before anything is touched. A process that is killed
  /// at any moment leaves the old state or the new one. The store begins another history: whoever has followed the old
  /// one is told to reload.
  /// - Parameters:
  ///   - backup: a file that ``backup(to:overwrite:progress:)`` has made, or any store. It is not changed.
  ///   - path: the store.
  ///   - options: what happens to a store that is open, and to what is replaced.
  ///   - progress: called on a thread of the restoration's own after each step of about 1 MiB.
  /// - Throws: `StorageError`: `damaged`, `notAStore`, `newerFormat` or `notFound` for the backup; `busy` when somebody
  ///   has the store open; `diskFull`, `permissionDenied`. The store is untouched then. `CancellationError` when the
  ///   task is cancelled.
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
