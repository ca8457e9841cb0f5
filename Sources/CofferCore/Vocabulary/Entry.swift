public import Foundation

/// One stored value with its name.
public struct Entry: Hashable, Sendable {
  /// Its name.
  public let key: Key
  /// Its bytes, as they were written.
  public let value: Data
  /// The commit that wrote the value; ``Revision/zero`` where the engine keeps no revisions.
  public let revision: Revision

  /// What an engine answers to a read.
  public init(key: Key, value: Data, revision: Revision) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}
