/// A report of a value whose bytes no longer match what was written.
///
/// Reading the value throws `damaged`. Its bytes are copied to the quarantine, where they stay unchanged, so writing
/// the key again loses nothing.
public struct DamageReport: Hashable, Sendable {
  /// The key of the damaged value; `nil` if a whole file with many values, or a copy of a store's key ring, is damaged.
  public let key: KeyName?
  /// The revision of the commit that wrote the value; zero for a whole file.
  public let revision: StoreRevision
  /// The number of damaged bytes; `nil` for a value in a store of secrets.
  public let size: Int?
  /// The location of the store, such as `sqlite:/var/lib/app.db`.
  public let location: String
  /// Whether a copy of the damaged file is used instead of it.
  public let isCopyUsed: Bool
  /// The ``QuarantinedValue/id`` of the bytes in the quarantine.
  ///
  /// It is `nil` for a value that was lost with a whole file, for a file in a read-only store, and while the bytes
  /// could not be kept.
  public let quarantineID: String?

  package init(
    key: KeyName?, revision: StoreRevision, size: Int?, location: String, isCopyUsed: Bool = false,
    quarantineID: String? = nil
  ) {
    self.key = key
    self.revision = revision
    self.size = size
    self.location = location
    self.isCopyUsed = isCopyUsed
    self.quarantineID = quarantineID
  }
}
