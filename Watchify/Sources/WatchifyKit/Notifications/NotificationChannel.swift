public import Foundation

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

/// One message to a channel: a notification with the changes that it covers.
public struct NotificationMessage: Sendable {
  /// The occasion of a message.
  public enum Kind: String, Codable, Sendable {
    /// Changes of shops.
    case news
    /// The number of changes that were given up while the channel did not work.
    case missed
    /// A test by the user.
    case test
  }

  /// The occasion.
  public var kind: Kind
  /// The notification of all changes together.
  public var content: NotificationContent
  /// The changes, oldest first.
  public var events: [ChangeEventDTO]
  /// The addresses of the product pages, by the identifiers of the changes.
  public var links: [UUID: String]
  /// The identifier of a message without changes.
  let id = UUID()

  /// Creates a message.
  public init(
    kind: Kind = .news, content: NotificationContent, events: [ChangeEventDTO] = [], links: [UUID: String] = [:]
  ) {
    self.kind = kind
    self.content = content
    self.events = events
    self.links = links
  }

  /// A test message.
  public static var test: NotificationMessage {
    NotificationMessage(
      kind: .test,
      content: NotificationContent(
        title: "Watchify", body: "This is a test notification.", threadIdentifier: "test", priority: .active))
  }

  /// Creates the message about changes that were given up.
  static func missed(_ count: Int) -> NotificationMessage {
    let changes = count == 1 ? "1 more change" : "\(count) more changes"
    return NotificationMessage(
      kind: .missed,
      content: NotificationContent(
        title: "Watchify", body: "\(changes) while this channel did not work: see 'watchify activity'.",
        threadIdentifier: "missed", priority: .active))
  }
}

/// A means of delivering notifications, such as the desktop, a terminal or a webhook.
public protocol NotificationChannel: Sendable {
  /// The name in settings and in the outbox, such as "desktop" or "terminal". Never change a released one.
  var name: String { get }
  /// The time until it tries again after a failure; ``RetryPolicy/steady`` by default.
  var retries: RetryPolicy { get }
  /// The time of a daily digest of all stores; `nil`, the default, for immediate notifications per store.
  var digest: DailyTime? { get }
  /// Returns whether the channel could deliver, without showing anything.
  func availability() async -> ChannelAvailability
  /// Shows one notification.
  /// - Throws: ``ChannelError`` if the notification was not shown; it stays in the outbox and is retried later.
  func deliver(_ content: NotificationContent) async throws
  /// Delivers a message with its changes; by default, shows its notification.
  /// - Throws: ``ChannelError``, as for ``deliver(_:)-(NotificationContent)``.
  func deliver(_ message: NotificationMessage) async throws
}

extension NotificationChannel {
  public var retries: RetryPolicy { .steady }
  public var digest: DailyTime? { nil }
  public func deliver(_ message: NotificationMessage) async throws { try await deliver(message.content) }
}

/// The reason why a channel did not deliver a notification.
public struct ChannelError: Error, Hashable, Sendable {
  /// The reason as a sentence for display, without secrets.
  public var reason: String
  /// Whether a later attempt may succeed.
  public var isTemporary: Bool
  /// The time that the server requests until the next attempt, in seconds (`Retry-After`); `nil` if it requests none.
  public var retryAfter: TimeInterval?
  /// Whether the notification may have been delivered, because the request was sent and not answered.
  public var isUncertain: Bool
  /// Whether the channel works and only this message is refused for good, for example because of its size or content.
  /// Other messages are delivered then; this one is divided, and what is refused alone is retried later.
  public var isAboutMessage: Bool

  /// Creates an error.
  public init(
    _ reason: String, isTemporary: Bool, retryAfter: TimeInterval? = nil, isUncertain: Bool = false,
    isAboutMessage: Bool = false
  ) {
    self.reason = reason
    self.isTemporary = isTemporary
    self.retryAfter = retryAfter
    self.isUncertain = isUncertain
    self.isAboutMessage = isAboutMessage
  }
}
