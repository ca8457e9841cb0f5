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
    "If that was intended (a restored backup, a store that was moved), accept the present state once with "
    + "StorageRouter.acceptRollback, EncryptedEngine.acceptRollback or, for a store in plain, "
    + "EncryptedEngine.encrypt(acceptingRollback:). Otherwise restore the newest copy. Nothing was changed."

  /// Returns the error for the decryption of a store whose anchor would refuse the plain one afterwards.
  static func anchorIsNotGiven(_ location: String) -> StorageError {
    StorageError(
      .unsupported,
      "The store has an anchor, which has to be released before the store is decrypted, and it was opened without it.",
      advice: "Open it with its anchor: EncryptedEngine.Configuration.rollbackProtection. Nothing was changed.",
      location: location)
  }

  /// Returns the error for a store whose present state cannot be accepted while it is in use.
  package static func isOpenForAcceptance(_ location: String) -> StorageError {
    StorageError(
      .busy, "The store is open, and its anchor was compared.",
      advice: "Accept an older copy before the store is used: close the router, and create another one. Nothing was "
        + "changed.", location: location)
  }

  /// Returns the error for a store that is older than its anchor.
  static func rolledBack(
    _ found: String, than anchored: AnchorRecord, in anchor: String, location: String
  ) -> StorageError {
    StorageError(
      .rolledBack,
      "The store is an older copy of itself: \(found), and the anchor (\(anchor)) has number \(anchored.sequence), key "
        + "ring \(anchored.generation) and revision \(anchored.revision) of \(anchored.date.formatted(.iso8601)).",
      advice: acceptance, location: location)
  }

  /// Returns the error for a key ring that was replaced by an older one while the store was open.
  static func ringIsOlder(_ found: UInt64, than known: UInt64, location: String) -> StorageError {
    StorageError(
      .rolledBack, "The key ring of the store was replaced by an older one: number \(found) after \(known).",
      advice: acceptance, location: location)
  }

  /// Returns the error for a record of the freshness that was replaced by an older one while the store was open.
  static func recordIsOlder(_ found: UInt64, than known: UInt64, location: String) -> StorageError {
    StorageError(
      .rolledBack,
      "The store was replaced by an older copy of itself while it was open: its record of freshness has number "
        + "\(found) after \(known).", advice: acceptance, location: location)
  }

  /// Returns the error for another store where the anchor knows one.
  static func replacedStore(_ what: String, than anchored: AnchorRecord, in anchor: String, location: String)
    -> StorageError
  {
    StorageError(
      .rolledBack,
      "The anchor (\(anchor)) knows another store, at revision \(anchored.revision) of "
        + "\(anchored.date.formatted(.iso8601)): \(what).", advice: acceptance, location: location)
  }

  /// Returns the error for an anchor that is gone.
  static func anchorIsGone(_ anchor: String, location: String) -> StorageError {
    StorageError(
      .notFound,
      "The store has an anchor, and there is none now (\(anchor)): it is not known whether the store is old.",
      advice: "If the anchor is on a disk or a server that is not available now, make it available and try again. "
        + acceptance, location: location)
  }

  /// Returns the error for a record of the freshness or of the anchor that cannot be relied on.
  func unconfirmed(_ anchor: String, location: String) -> StorageError {
    guard code == .damaged else { return locating(at: location) }
    return StorageError(
      .damaged, "\(message) The anchor is \(anchor). It is not known whether the store is old.",
      advice: Self.acceptance, location: location)
  }

  /// Returns the error for a record that other processes always write first.
  static func freshnessIsBusy(_ location: String) -> StorageError {
    StorageError(
      .busy, "Other processes keep writing the record of the store's freshness.", advice: "Try again.",
      location: location)
  }
}

extension StorageEngine {
  /// Tells that the store is older than its anchor.
  /// - Parameter isLater: whether it is told on the queue of the events, for what the store found by itself.
  func tellRollback(from anchored: AnchorRecord, isLater: Bool = false) {
    let rollback = StoreEvent.Rollback(found: latestRevision, anchored: anchored.revision, date: anchored.date)
    if isLater {
      events?.emitLater(description, .rolledBack(rollback))
    } else {
      events?.emit(StoreEvent(location: description, .rolledBack(rollback)))
    }
  }
}
