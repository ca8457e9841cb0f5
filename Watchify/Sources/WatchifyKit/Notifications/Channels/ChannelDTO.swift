public import Foundation

/// The kind of a channel that is added by name. Raw values are stored; never change a released one.
public enum ChannelKind: String, Codable, CaseIterable, Sendable {
  /// A webhook that receives Watchify's own JSON, signed on request.
  case json
  /// A topic of an ntfy server.
  case ntfy
  /// A Discord webhook.
  case discord
  /// An incoming webhook of Slack, or of a program that accepts the same messages.
  case slack
  /// An application of a Gotify server.
  case gotify
  /// A room of a Matrix server.
  case matrix
  /// E-mail through an SMTP server.
  case email

  /// Whether the address itself grants access, so that it must not appear among the arguments of a command.
  public var hasSecretAddress: Bool { self == .discord || self == .slack }
}

/// The options of a channel that are no secrets.
public struct ChannelOptions: Codable, Hashable, Sendable {
  /// Whether the channel may deliver to private and loopback addresses, over plain HTTP as well.
  public var allowsPrivate = false
  /// The file with the certificates that sign the server's certificate; `nil` for those of the system.
  public var certificates: String?
  /// The user at the SMTP server; `nil` for a server that requires none.
  public var user: String?
  /// The sender of e-mail.
  public var sender: String?
  /// The recipients of e-mail.
  public var recipients: [String] = []

  /// Creates the default options.
  public init() {}

  /// Decodes options; those that an older version has not stored have their defaults.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    allowsPrivate = try values.decodeIfPresent(Bool.self, forKey: .allowsPrivate) ?? false
    certificates = try values.decodeIfPresent(String.self, forKey: .certificates)
    user = try values.decodeIfPresent(String.self, forKey: .user)
    sender = try values.decodeIfPresent(String.self, forKey: .sender)
    recipients = try values.decodeIfPresent([String].self, forKey: .recipients) ?? []
  }
}

/// A channel that was added by name.
public struct ChannelDTO: Hashable, Identifiable, Sendable {
  /// The identifier, under which the channel's secret is stored.
  public var id: UUID
  /// The name, unique among all channels.
  public var name: String
  /// The kind.
  public var kind: ChannelKind
  /// The host to which the channel delivers, for display.
  public var host: String
  /// The options.
  public var options: ChannelOptions
  /// The time of a daily digest; `nil` for immediate delivery.
  public var digest: DailyTime?
  /// The date since which the channel exists. Older news is not delivered.
  public var addedAt: Date

  /// Creates a channel from its values.
  public init(
    id: UUID = UUID(), name: String, kind: ChannelKind, host: String, options: ChannelOptions = ChannelOptions(),
    digest: DailyTime? = nil, addedAt: Date
  ) {
    self.id = id
    self.name = name
    self.kind = kind
    self.host = host
    self.options = options
    self.digest = digest
    self.addedAt = addedAt
  }
}

/// What is known about the deliveries of a channel.
public struct ChannelState: Hashable, Sendable {
  /// The date of the last delivery.
  public var lastSuccess: Date?
  /// The date of the last failure.
  public var lastFailure: Date?
  /// The reason of the last failure, as a sentence.
  public var reason: String?
  /// The number of failures since the last success.
  public var failures = 0
  /// The date of the next attempt after a failure; `nil` if the channel does not wait.
  public var nextAttempt: Date?
  /// The number of undelivered events.
  public var waiting = 0
  /// The number of events that were given up, and whose number the next message states.
  public var missed = 0
  /// Whether the server refuses every message.
  var isRefused = false
  /// The date of the next attempt of the message that states this number; `nil` if it does not wait.
  var missedTurn: Date?

  /// Creates the state of a channel that was never used.
  public init() {}

  /// Whether the last delivery failed, or the server refuses every message.
  public var isFailing: Bool { failures > 0 || isRefused }
}
