public import Foundation

/// One stored value with its name.
public struct StoreEntry: Hashable, Sendable {
  /// Its name.
  public let key: StoreKey
  /// Its bytes, as they were written.
  public let value: Data
  /// The commit that wrote the value; ``StoreRevision/zero`` where the engine keeps no revisions.
  public let revision: StoreRevision
  /// What was stored with the value beside its bytes.
  public let attributes: ValueAttributes

  /// What an engine answers to a read.
  public init(key: StoreKey, value: Data, revision: StoreRevision, attributes: ValueAttributes = .none) {
    self.key = key
    self.value = value
    self.revision = revision
    self.attributes = attributes
  }
}

/// What a listing says of a value without reading it.
public struct StoreEntrySummary: Hashable, Sendable {
  /// Its name.
  public let key: StoreKey
  /// The size of the value in bytes; `nil` where it may not be told without reading the value, as with secrets.
  public let size: Int?
  /// The commit that wrote the value; ``StoreRevision/zero`` where the engine keeps no revisions.
  public let revision: StoreRevision
  /// When it was committed, by the clock of whoever committed it; `nil` when the journal has forgotten it.
  public let date: Date?
  /// What was stored with the value beside its bytes.
  public let attributes: ValueAttributes

  /// What an engine answers to a listing.
  public init(key: StoreKey, size: Int?, revision: StoreRevision, date: Date?, attributes: ValueAttributes = .none) {
    self.key = key
    self.size = size
    self.revision = revision
    self.date = date
    self.attributes = attributes
  }

  /// What is told of a value that was read, where the journal was not asked.
  public init(_ entry: StoreEntry) {
    self.init(
      key: entry.key, size: entry.value.count, revision: entry.revision, date: nil, attributes: entry.attributes)
  }
}
