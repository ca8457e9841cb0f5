public import Foundation

extension SystemRecord {
  /// The name of a record that the library itself keeps in a store, such as the router's overrides of sync policies.
  ///
  /// System records are committed in the same batches as values and appear in the journal, but they are separate from
  /// the values. Listings and counts omit them, clearing does not remove them, and they have their own namespace. In a
  /// store of secrets, the content of a record must not depend on any value.
  public struct Name: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The text of the name.
    public var description: String { key.string }

    package let key: KeyName

    /// Creates a name of the library.
    /// - Parameter name: one of the names listed in `docs/formats/sqlite.md`.
    package init(_ name: String) throws { key = try KeyName(name) }

    package init(_ key: KeyName) { self.key = key }

    public static func < (left: SystemRecord.Name, right: SystemRecord.Name) -> Bool { left.key < right.key }
  }
}

/// A record that the library itself keeps in a store, with its revision.
public struct SystemRecord: Hashable, Sendable {
  /// The bytes of the record.
  public let content: Data
  /// The revision of the commit that wrote the record.
  public let revision: StoreRevision

  /// Creates the record that an engine returns from a read.
  public init(content: Data, revision: StoreRevision) {
    self.content = content
    self.revision = revision
  }
}
