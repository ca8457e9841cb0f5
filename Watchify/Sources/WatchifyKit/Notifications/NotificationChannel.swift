/// The urgency of a notification, as an interruption level.
public enum NotificationPriority: Int, Codable, Comparable, Sendable {
  /// Shown without sound.
  case passive
  /// Shown with the default presentation.
  case active
  /// Shown even where other notifications are held back.
  case timeSensitive

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The content of one notification, which covers the changes of one store.
public struct NotificationContent: Hashable, Codable, Sendable {
  /// The store's name.
  public var title: String
  /// The text, such as "3 price drops, 1 back in stock".
  public var body: String
  /// The store's id. A notification replaces the previous one of the same thread.
  public var threadIdentifier: String
  /// The urgency.
  public var priority: NotificationPriority

  /// Creates the content of a notification.
  public init(title: String, body: String, threadIdentifier: String, priority: NotificationPriority) {
    self.title = title
    self.body = body
    self.threadIdentifier = threadIdentifier
    self.priority = priority
  }
}

/// Whether a channel can deliver notifications.
public enum ChannelAvailability: Hashable, Sendable {
  /// The channel can deliver; `detail` names the server or device, such as "gnome-shell 43.9".
  case available(detail: String)
  /// The channel cannot deliver; `reason` is a sentence for display.
  case unavailable(reason: String)
}

/// A means of delivering notifications, such as the desktop or a terminal.
public protocol NotificationChannel: Sendable {
  /// The name in settings and in the outbox, such as "desktop" or "terminal". Never change a released one.
  var name: String { get }
  /// Returns whether the channel could deliver, without showing anything.
  func availability() async -> ChannelAvailability
  /// Shows one notification.
  /// - Throws: ``ChannelError`` if the notification was not shown; it stays in the outbox and is retried later.
  func deliver(_ content: NotificationContent) async throws
}

/// The reason why a channel did not deliver a notification.
public struct ChannelError: Error, Hashable, Sendable {
  /// The reason as a sentence for display.
  public var reason: String
  /// Whether a later attempt may succeed.
  public var isTemporary: Bool

  /// Creates an error.
  public init(_ reason: String, isTemporary: Bool) {
    self.reason = reason
    self.isTemporary = isTemporary
  }
}
