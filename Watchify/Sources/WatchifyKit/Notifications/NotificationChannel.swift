/// How urgent a notification is (document 2's interruption levels).
public enum NotificationPriority: Int, Codable, Comparable, Sendable {
  /// Shown without sound.
  case passive
  /// Shown as any other.
  case active
  /// Shown even where others are held back.
  case timeSensitive

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// One notification: what one store has to tell.
public struct NotificationContent: Hashable, Codable, Sendable {
  /// The store's name.
  public var title: String
  /// "3 price drops, 1 back in stock".
  public var body: String
  /// The store's id: a newer notification of the same thread takes the place of the older one.
  public var threadIdentifier: String
  /// How urgent it is.
  public var priority: NotificationPriority

  /// A notification.
  public init(title: String, body: String, threadIdentifier: String, priority: NotificationPriority) {
    self.title = title
    self.body = body
    self.threadIdentifier = threadIdentifier
    self.priority = priority
  }
}

/// Whether a channel can show anything.
public enum ChannelAvailability: Hashable, Sendable {
  /// It can; `detail` says through what, such as "gnome-shell 43.9".
  case available(detail: String)
  /// It cannot, and why, in a sentence for people.
  case unavailable(reason: String)
}

/// A way that news reaches a person: the desktop, a terminal.
public protocol NotificationChannel: Sendable {
  /// What settings and the outbox call it: "desktop", "terminal". Never change one that was released.
  var name: String { get }
  /// Looks whether it could deliver, without showing anything.
  func availability() async -> ChannelAvailability
  /// Shows one notification.
  /// - Throws: ``ChannelError`` when it was not shown; the outbox then tries again later.
  func deliver(_ content: NotificationContent) async throws
}

/// Why a channel did not deliver.
public struct ChannelError: Error, Hashable, Sendable {
  /// In a sentence for people.
  public var reason: String
  /// Whether a later attempt may succeed.
  public var isTemporary: Bool

  /// A failure.
  public init(_ reason: String, isTemporary: Bool) {
    self.reason = reason
    self.isTemporary = isTemporary
  }
}
