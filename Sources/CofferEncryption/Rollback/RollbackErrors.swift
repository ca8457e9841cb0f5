public import CofferCore
import Foundation

extension StorageError.Code {
  /// An older copy of the store was put back, or another store, as its anchor shows. No value was read, and nothing was
  /// written, except that a damaged record of the key ring is repaired from its copy. If the store was open then, the
  /// commits since its last comparison remain in the copy that was put back, and the anchor is unchanged.
  /// ``EncryptedEngine/acceptRollback(of:key:configuration:)`` accepts it.
  public static let rolledBack = Self("rolledBack")
}

extension StorageError {
  /// The advice of every error of a store that its anchor does not confirm.
  package static let acceptance =
    "If that was intended (a restored backup, a store that was moved or decrypted), accept the present state once with "
    + "StorageRouter.acceptRollback, EncryptedEngine.acceptRollback or, for a store in plain, "
    + "EncryptedEngine.encrypt(acceptingRollback:). Otherwise restore the newest copy. Nothing was changed."

  /// Returns the error for a store whose present state cannot be accepted while it is in use.
  package static func isOpenForAcceptance(_ location: String) -> StorageError {
    StorageError(
      .busy, "The store is open, and its anchor was compared.",
      advice: "Accept an older copy before the store is used: close the router, and create another one. Nothing was "
        + "changed.", location: location)
  }

  /// Returns the error for a store that is not the newest one.
  static func rolledBack(_ message: String, location: String) -> StorageError {
    StorageError(.rolledBack, message, advice: acceptance, location: location)
  }

  /// Returns the error for a key ring that was replaced by an older one while the store was open.
  static func ringIsOlder(_ found: UInt64, than known: UInt64, location: String) -> StorageError {
    rolledBack(
      "The key ring of the store was replaced by an older one: number \(found) after \(known).", location: location)
  }

  /// Returns the error for an anchor that is gone.
  static func anchorIsGone(_ anchor: String, location: String) -> StorageError {
    StorageError(
      .notFound,
      "The store has an anchor, and there is none now (\(anchor)): it is not known whether the store is old.",
      advice: "If the anchor is on a disk or a server that is not available now, make it available and try again. "
        + acceptance, location: location)
  }

  /// Returns the error for a record of the store or of the anchor that cannot be relied on.
  func unconfirmed(_ anchor: String, location: String) -> StorageError {
    guard code == .damaged else { return locating(at: location) }
    return StorageError(
      .damaged, "\(message) The anchor is \(anchor). It is not known whether the store is old.",
      advice: Self.acceptance, location: location)
  }
}

extension StorageEngine {
  /// Tells that the store is older than its anchor.
  func tellRollback(from anchored: AnchorRecord) {
    let rollback = StoreEvent.Rollback(found: latestRevision, anchored: anchored.revision, date: anchored.date)
    events?.emitLater(description, .rolledBack(rollback))
  }
}
