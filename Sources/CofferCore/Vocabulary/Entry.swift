public import Foundation

/// One stored value with its name.
public struct Entry: Hashable, Sendable {
  /// Its name.
  public let key: Key
  /// Its bytes, as they were written.
  public let value: Data
  /// The commit that wrote the value; ``Revision/zero`` where the engine keeps no revisions.
  public let revision: Revision
  /// What was stored with the value beside its bytes.
  public let attributes: ValueAttributes

  /// What an engine answers to a read.
  public init(key: Key, value: Data, revision: Revision, attributes: ValueAttributes = .none) {
    self.key = key
    self.value = value
    self.revision = revision
    self.attributes = attributes
  }
}

/// What a listing says of a value without reading it.
public struct EntrySummary: Hashable, Sendable {
  /// Its name.
  public let key: Key
  /// The size of the value in bytes; `nil` where it may not be told without reading the value, as with secrets.
  public let size: Int?
  /// The commit that wrote the value; ``Revision/zero`` where the engine keeps no revisions.
  public let revision: Revision
  /// When it was committed, by the clock of whoever committed it; `nil` when the journal has forgotten it.
  public let date: Date?
  /// What was stored with the value beside its bytes.
  public let attributes: ValueAttributes

  /// What an engine answers to a listing.
  public init(key: Key, size: Int?, revision: Revision, date: Date?, attributes: ValueAttributes = .none) {
    self.key = key
    self.size = size
    self.revision = revision
    self.date = date
    self.attributes = attributes
  }

  /// What is told of a value that was read, where the journal was not asked.
  public init(_ entry: Entry) {
    self.init(
      key: entry.key, size: entry.value.count, revision: entry.revision, date: nil, attributes: entry.attributes)
  }
}
