/// One state of a store, whatever is written meanwhile.
///
/// A snapshot is valid inside the ``StorageEngine/withSnapshot(_:)`` call that gave it; afterwards its methods throw
/// ``StorageError/Code-swift.struct/closed``.
public protocol StorageSnapshot: Sendable {
  /// The revision of the state.
  var revision: Revision { get }

  /// The entries of `keys`, in the same order; `nil` where a key is absent.
  func entries(_ keys: [Key]) async throws -> [Entry?]

  /// Up to `limit` entries in the order of their keys: those whose key starts with `prefix` and sorts after `after`.
  ///
  /// Ask for the next page with the last key of the one before. Only an empty page is the end: a page may be shorter
  /// than `limit` although more follow, since engines keep pages of large values small.
  func page(prefix: Key?, after: Key?, limit: Int) async throws -> [Entry]
}
