import Coffer
import Foundation

/// Notifications as e-mail through an SMTP server, with TLS: immediately for each store, or as one daily digest.
public actor MailChannel: NotificationChannel {
  /// The channel's name.
  public nonisolated var name: String { channel.name }
  /// Retries after growing times.
  public nonisolated var retries: RetryPolicy { .backoff }
  /// The time of the channel's digest.
  public nonisolated var digest: DailyTime? { channel.digest }

  private nonisolated let channel: ChannelDTO
  private let secrets: ChannelSecrets
  private let deadline: Duration
  private let now: @Sendable () -> Date
  private let queue = DispatchQueue(label: "watchify.mail", qos: .utility)

  /// The deadline of a delivery; shorter than the lifetime of a claim in the outbox.
  static let deadline = Duration.seconds(40)

  /// Creates a channel. Connects when it delivers.
  public init(_ channel: ChannelDTO, secrets: ChannelSecrets) {
    self.init(channel, secrets: secrets, deadline: Self.deadline)
  }

  init(
    _ channel: ChannelDTO, secrets: ChannelSecrets, deadline: Duration, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.channel = channel
    self.secrets = secrets
    self.deadline = deadline
    self.now = now
  }

  /// Returns `.available`; whether the server accepts mail shows only on delivery.
  public func availability() async -> ChannelAvailability { .available(detail: channel.host) }

  /// Delivers a notification without the changes that it covers.
  public func deliver(_ content: NotificationContent) async throws {
    try await deliver(NotificationMessage(content: content))
  }

  /// Sends a message.
  public func deliver(_ message: NotificationMessage) async throws {
    let (target, password) = try await channel.target(secrets)
    let recipients = channel.options.recipients
    guard let sender = channel.options.sender, !recipients.isEmpty else {
      throw ChannelError(
        "The channel has no sender or recipient: remove the channel '\(name)' and add it again.", isTemporary: false)
    }
    let mail = MailMessage(message, from: sender, to: recipients, at: now())
    let submission = MailSubmission(
      url: target.url, reach: target.reach, certificates: channel.options.certificates,
      user: channel.options.user, password: password, sender: sender, recipients: recipients, message: mail.bytes,
      deadline: deadline)
    let result = await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: MailTransfer(submission).run()) }
    }
    if let error = report(result) { throw error }
  }

  /// Converts the result of a transfer to an error; `nil` if the server has accepted the message.
  private func report(_ result: MailTransfer.Result) -> ChannelError? {
    let host = channel.host
    func error(_ words: String, isTemporary: Bool = true) -> ChannelError {
      ChannelError("\(host) \(words)", isTemporary: isTemporary, isUncertain: result.isUncertain)
    }
    if let flaw = InsecureConnection.Flaw(result: result.code, verification: result.verification) {
      let words = InsecureConnection(host: host, flaw: flaw).sentence
      return ChannelError("\(words) Nothing was sent.", isTemporary: true, isUncertain: result.isUncertain)
    }
    let isRefusal = (500...599).contains(result.status)
    switch result.code {
    case 0: return nil
    case -1: return ChannelError(Curl.Missing().localizedDescription, isTemporary: true)
    case 5, 6: return error("was not found.")
    case 7:
      guard let address = result.forbidden else { return error("cannot be reached.") }
      return error(
        "is at the private address \(address), which the channel may not use: add it with --allow-private if that is "
          + "meant. Nothing was sent.")
    case 28: return error("did not answer in time.")
    case 64: return error("offers no encryption (STARTTLS), which is required. Nothing was sent.")
    case 67: return error("refuses the user or the password: remove the channel and add it again.", isTemporary: false)
    case 55 where isRefusal:
      return error("refuses the sender or a recipient (\(result.status)).", isTemporary: false)
    default:
      if result.status >= 400 {
        var refusal = error("refuses the message (\(result.status)).", isTemporary: !isRefusal)
        refusal.isAboutMessage = isRefusal && result.isSent
        return refusal
      }
      return error("ended the connection.")
    }
  }
}
