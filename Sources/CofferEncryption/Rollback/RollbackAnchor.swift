public import Foundation

/// A small record outside of an encrypted store, by which an older copy of the store is noticed when somebody puts it
/// back.
///
/// It can be a file on another file system (``FileAnchor``), an item in the keyring, or on a server.
///
/// An anchor belongs to one store. It is worth as much as the difference between those who can write the store and
/// those who can write the anchor: whoever can put back older copies of both is not noticed. The record is
/// authenticated under the key ring of the store and contains nothing secret.
///
/// Both methods are called in a task that is cancelled when the deadline of the ``RollbackProtection`` passes; the
/// store does not wait for the end of the call then. A call that has to block belongs on a thread of its own.
public protocol RollbackAnchor: Sendable {
  /// The location of the anchor in messages, such as `file:/var/lib/shop/anchor`.
  var description: String { get }

  /// Returns the record, or `nil` if the anchor has none yet.
  /// - Throws: any error if it cannot be read. That never means that there is none.
  func record() async throws -> Data?

  /// Replaces the record by the result of `change`, unless that is `nil`.
  ///
  /// The record survives power loss when this returns. Between the reading of the record that `change` receives and the
  /// end of the call, no other process changes it: lock it, or call `change` again after a conflict.
  /// - Throws: what `change` throws; any error if the record cannot be written.
  func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws
}
