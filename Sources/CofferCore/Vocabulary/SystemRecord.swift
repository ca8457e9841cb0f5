public import Foundation

/// The name of a record that the library itself keeps in a store: settings of the router, later the state of migrations
/// and of sync.
///
/// Records are committed in the same batches as values and are in the journal, but they are apart from the values:
/// listings do not show them, clearing leaves them, nobody counts them, and no key can have their names. In a home of
/// secrets nothing may be put into a record that depends on a value.
public struct SystemRecordName: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The name as text.
  public var description: String { key.string }

  package let key: StoreKey

  /// - Parameter name: a name of the library's own, listed in `docs/formats/sqlite.md`.
  package init(_ name: String) throws { key = try StoreKey(name) }

  package init(_ key: StoreKey) { self.key = key }

  public static func < (left: SystemRecordName, right: SystemRecordName) -> Bool { left.key < right.key }
}

/// What a store keeps under the name of a record.
public struct SystemRecord: Hashable, Sendable {
  /// Its bytes.
  public let content: Data
  /// The commit that wrote it.
  public let revision: StoreRevision

  /// What an engine answers to a read.
  public init(content: Data, revision: StoreRevision) {
    self.content = content
    self.revision = revision
  }
}
