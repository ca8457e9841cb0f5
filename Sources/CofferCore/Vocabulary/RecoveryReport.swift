/// The repairs that opening a store has made.
public struct RecoveryReport: Hashable, Sendable {
  /// The location of the store, such as `file:/var/lib/shop`.
  public let location: String
  /// The number of values rolled forward for a writer that was killed after its commit.
  public let completed: Int
  /// The number of values that other programs had added, edited or removed while no process had the store open.
  public let edited: Int
  /// The number of staged values whose journal is missing, so that it is unknown whether they were committed. They are
  /// in the quarantine.
  public let quarantined: Int
  /// The keys whose newest values are lost.
  ///
  /// Either a value of a committed batch was missing or damaged before a killed writer could publish it. The key then
  /// keeps its previous value, which is announced as a change, and any remains of the new one are in the quarantine.
  /// Or the store was damaged, and the copy that replaced it has an older value or none: reading the key throws
  /// `damaged` until it is written again.
  public let lost: [KeyName]
  /// Whether the journal was missing and was rebuilt from the values. Revisions start again, and the transaction ids of
  /// earlier commits are lost.
  public let wasRebuilt: Bool

  package init(
    location: String, completed: Int, edited: Int, quarantined: Int, lost: [KeyName], wasRebuilt: Bool
  ) {
    self.location = location
    self.completed = completed
    self.edited = edited
    self.quarantined = quarantined
    self.lost = lost
    self.wasRebuilt = wasRebuilt
  }
}
