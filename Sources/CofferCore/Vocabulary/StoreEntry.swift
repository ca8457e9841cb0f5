public import Foundation

/// One stored value with its key, revision and attributes.
public struct StoreEntry: Hashable, Sendable {
  /// The key of the value.
  public let key: KeyName
  /// The bytes of the value, as they were written.
  public let value: Data
  /// The revision of the commit that wrote the value; ``StoreRevision/zero`` if the engine has no revisions.
  public let revision: StoreRevision
  /// The attributes that were stored with the value.
  public let attributes: ValueAttributes

  /// Creates the entry that an engine returns from a read.
  public init(key: KeyName, value: Data, revision: StoreRevision, attributes: ValueAttributes = .none) {
    self.key = key
    self.value = value
    self.revision = revision
    self.attributes = attributes
  }
}

extension StoreEntry {
  /// The metadata of a stored value, available without reading the value.
  public struct Summary: Hashable, Sendable {
    /// The key of the value.
    public let key: KeyName
    /// The size of the value in bytes; `nil` if it is not disclosed without reading the value, as with secrets.
    public let size: Int?
    /// The revision of the commit that wrote the value; ``StoreRevision/zero`` if the engine has no revisions.
    public let revision: StoreRevision
    /// The date of the commit, by the clock of the committing handle; `nil` if it is no longer in the journal.
    public let date: Date?
    /// The attributes that were stored with the value.
    public let attributes: ValueAttributes

    /// Creates the summary that an engine returns from a listing.
    public init(key: KeyName, size: Int?, revision: StoreRevision, date: Date?, attributes: ValueAttributes = .none) {
      self.key = key
      self.size = size
      self.revision = revision
      self.date = date
      self.attributes = attributes
    }

    /// Creates the summary of an entry that was read. Its ``date`` is `nil`, since an entry has none.
    public init(_ entry: StoreEntry) {
      self.init(
        key: entry.key, size: entry.value.count, revision: entry.revision, date: nil, attributes: entry.attributes)
    }
  }
}
