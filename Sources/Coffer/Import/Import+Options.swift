public import CofferCore

extension Import {
  /// What `StorageEngine.import(from:options:)` does beside reading and storing.
  public struct Options: Sendable {
    /// What happens to a value whose key has another value in the store.
    public enum ConflictPolicy: String, CaseIterable, Sendable {
      /// The store keeps its value, and the report has a conflict.
      case refuse
      /// The store keeps its value, and the report counts the original as skipped. It is never removed.
      case keepStored = "keep"
      /// The original replaces the value of the store.
      case replaceStored = "replace"
    }

    /// Returns the key under which a value is stored, or `nil` for one that is not taken; by default its old name.
    public var key: @Sendable (_ name: String) throws -> KeyName? = { try KeyName($0) }
    /// What happens to a value whose key has another value in the store.
    public var conflicts = ConflictPolicy.refuse
    /// Whether each original is removed once the store has its value, safe from power loss and compared. Supported for
    /// ``Import/Source/files(directory:encoding:)`` and ``Import/Source/keychain(service:accessGroup:encoding:)``.
    public var removesOriginals = false
    /// Whether only the report is made, and neither the store nor the originals are changed.
    public var isDryRun = false

    /// Creates the default options: names stay, conflicts are refused, originals stay.
    public init() {}
  }
}
