import Coffer
import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferTerminal
import Foundation

/// The anchor of an encrypted store that `--anchor-file` names, by which an older copy of the store is noticed.
struct AnchorFile: Sendable {
  let path: String
  /// Whether the store is anchored as it is, whatever the anchor knows.
  let acceptsRollback: Bool
  private let acceptedError = Locked<StorageError?>(nil)

  /// Returns `nil` without the option.
  /// - Throws: `CommandError` for options that contradict each other.
  init?(_ invocation: Invocation) throws {
    acceptsRollback = invocation.has(.acceptRollback)
    guard let path = invocation.options[.anchorFile] else {
      guard acceptsRollback else { return nil }
      throw Command.mistake("--accept-rollback needs --anchor-file PATH.", invocation.command)
    }
    guard !acceptsRollback || !invocation.has(.readOnly) else {
      throw Command.mistake("--accept-rollback writes to the store: omit --read-only.", invocation.command)
    }
    self.path = path
  }

  /// The error of the opening that was accepted.
  var accepted: StorageError? { acceptedError.withLock { $0 } }

  /// Notes that an error of the opening was accepted.
  func accept(_ error: StorageError) { acceptedError.withLock { $0 = error } }

  /// Returns whether an error of the opening is one that is accepted, since its cause is the anchor.
  func accepts(_ error: StorageError) -> Bool { acceptsRollback && error.advice.hasSuffix(StorageError.acceptance) }

  /// Returns the settings of an encrypted store.
  /// - Parameter mayCreate: whether a missing anchor is created. Otherwise a misspelled path and a copy from before the
  ///   first anchor would begin a new one.
  func settings(mayCreate: Bool, of store: String) throws -> RollbackProtection {
    if !mayCreate, !acceptsRollback, try !PathParts.exists(URL(fileURLWithPath: path).path) {
      throw CommandError(
        .failure, StorageError.Code.notFound.description, "There is no anchor at \(path.oneLine()).",
        advice: "Check the path. If it was lost, or the store has none yet: coffer verify --accept-rollback "
          + "--anchor-file PATH, with the store and its key. Nothing was changed.", store: store)
    }
    return RollbackProtection(anchor: FileAnchor(URL(fileURLWithPath: path)))
  }
}
