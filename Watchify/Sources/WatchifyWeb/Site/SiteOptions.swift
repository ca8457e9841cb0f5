public import Foundation
public import WatchifyHTTP
public import WatchifyKit

/// What the site knows about the process around it.
public struct SiteHealth: Sendable {
  /// The state of a channel for notifications.
  public struct Channel: Sendable, Hashable {
    /// The name, such as "desktop".
    public var name: String
    /// Whether the channel works; `nil` if it is switched off.
    public var isWorking: Bool?
    /// A clause such as "gnome-shell 43.9", or the reason why it does not work.
    public var detail: String

    /// Creates the state of a channel.
    public init(name: String, isWorking: Bool?, detail: String = "") {
      self.name = name
      self.isWorking = isWorking
      self.detail = detail
    }
  }

  /// Whether a process reads the stores at intervals.
  public var isWatching: Bool
  /// The date of the next read; `nil` if unknown.
  public var next: Date?
  /// The channels for notifications.
  public var channels: [Channel]

  /// Creates facts about the process.
  public init(isWatching: Bool = false, next: Date? = nil, channels: [Channel] = []) {
    self.isWatching = isWatching
    self.next = next
    self.channels = channels
  }
}

/// The environment of a ``WatchifySite``.
public struct SiteOptions: Sendable {
  /// How pictures are shown; by the setting if `nil`, the default.
  public var pictures: ProductPictures?
  /// Returns the current date.
  public var now: @Sendable () -> Date = { Date() }
  /// The calendar, with the time zone of displayed dates.
  public var calendar = Calendar.current
  /// Returns facts about the process, for the line at the top of each page and the health page.
  public var health: @Sendable () async -> SiteHealth = { SiteHealth() }
  /// Returns the token for the hidden field `csrf` of each form in the response to a request; `nil` for no field.
  public var formToken: @Sendable (HTTPRequest) -> String? = { _ in nil }
  /// The token in the addresses of feeds; `nil` for none.
  var feedToken: String?
  /// The origin of the site at a reverse proxy, such as "https://nas.example"; `nil` for that of the request.
  var origin: String?
  /// Returns a response that refuses a request, or `nil` to accept it.
  public var refusal: @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil }
  /// Starts the demo shop, and returns its address; `nil` if there is none.
  public var startDemo: (@Sendable () async throws -> String)?
  /// Delivers news that a read from the page has found.
  public var deliver: @Sendable ([ChangeEventDTO]) async -> Void = { _ in }
  /// Sends a test notification through every selected channel, and returns a sentence about the result of each; `nil`
  /// if the process has no channels.
  public var testNotification: (@Sendable () async -> [String])?

  /// Creates options with default values.
  public init() {}
}
