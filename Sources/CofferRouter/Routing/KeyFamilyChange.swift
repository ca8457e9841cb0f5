public import Foundation

/// A change of the members of a ``KeyFamily``, as delivered to its subscribers.
public enum KeyFamilyChange<ID: KeyFamilyID>: Hashable, Sendable {
  /// One commit has stored or removed the values of these ids. `isOwn` is `true` if this router made the commit;
  /// `transaction` is `nil` if the writer does not use this library.
  case changed(ids: [ID], revision: StoreRevision, transaction: TransactionID?, isOwn: Bool)
  /// Any member may have changed: all were removed at once, or individual changes up to this revision are no longer
  /// available. List the family again.
  case reload(upTo: StoreRevision)

  /// The revision up to which changes have been delivered.
  public var revision: StoreRevision {
    switch self {
    case .changed(_, let revision, _, _): revision
    case .reload(let revision): revision
    }
  }
}

extension StorageRouter {
  /// The number and the size of the stored values of a ``KeyFamily``.
  public struct FamilySummary: Codable, Hashable, Sendable {
    /// The number of values.
    public var count = 0
    /// The total size in bytes; `nil` if the store does not report it without reading the values, as with secrets.
    public var size: Int? = 0
    /// The date of the newest change that the journal of the store still has; `nil` if there is none.
    public var changed: Date?

    init(_ members: some Sequence<StoreEntry.Summary>) {
      for member in members { add(member) }
    }

    mutating func add(_ member: StoreEntry.Summary) {
      count += 1
      size = size.flatMap { total in member.size.map { total + $0 } }
      changed = [changed, member.date].compactMap { $0 }.max()
    }
  }
}
