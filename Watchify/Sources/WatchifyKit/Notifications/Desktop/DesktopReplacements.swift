/// The id of a shown notification, which the next one of its thread replaces.
public struct DesktopReplacement: Hashable, Codable, Sendable {
  /// The id that the server assigned.
  public var id: UInt32
  /// The identity of the running server. The id is meaningless to any other server.
  public var server: String

  /// Creates the id of a shown notification.
  public init(id: UInt32, server: String) {
    self.id = id
    self.server = server
  }
}

/// Storage for the ids of shown notifications, so that they can be replaced after a restart as well.
///
/// Errors are ignored: their only effect is a second bubble for a thread.
public protocol DesktopReplacements: Sendable {
  /// Returns the notification shown last for a thread.
  func replacement(forThread thread: String) async throws -> DesktopReplacement?
  /// Stores the notification shown last for a thread, replacing any existing one.
  func remember(_ replacement: DesktopReplacement, forThread thread: String) async throws
}
