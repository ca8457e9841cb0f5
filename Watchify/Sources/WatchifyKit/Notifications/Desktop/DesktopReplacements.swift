/// A notification that a desktop shows or has shown: the next one of its thread takes its place.
public struct DesktopReplacement: Hashable, Codable, Sendable {
  /// The number that the server gave it.
  public var id: UInt32
  /// Which run of which server that was: to another one the number means something else.
  public var server: String

  /// A notification that was shown.
  public init(id: UInt32, server: String) {
    self.id = id
    self.server = server
  }
}

/// Keeps the numbers of shown notifications, so that they are replaced after a restart, too.
///
/// A failure costs no more than a second bubble of one thread, and is passed over.
public protocol DesktopReplacements: Sendable {
  /// What was shown last of a thread.
  func replacement(forThread thread: String) async throws -> DesktopReplacement?
  /// Keeps what was shown last of a thread, in place of what was kept before.
  func remember(_ replacement: DesktopReplacement, forThread thread: String) async throws
}
