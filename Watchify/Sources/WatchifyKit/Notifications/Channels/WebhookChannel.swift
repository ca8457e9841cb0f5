import Coffer
import Foundation

/// Notifications through a webhook: one HTTP request per message.
///
/// Redirects are not followed, because they would carry the message to a server that the user has not named. The body
/// of an acceptance is read up to 64 KB and dropped: a response that ends early accepts nothing.
public actor WebhookChannel: NotificationChannel {
  /// The channel's name.
  public nonisolated var name: String { channel.name }
  /// Retries after growing times.
  public nonisolated var retries: RetryPolicy { .backoff }
  /// The time of the channel's digest.
  public nonisolated var digest: DailyTime? { channel.digest }

  private nonisolated let channel: ChannelDTO
  private let secrets: ChannelSecrets
  private let transport: HTTPTransport
  private let now: @Sendable () -> Date

  /// The deadline of a delivery; shorter than the lifetime of a claim in the outbox.
  static let deadline = Duration.seconds(20)
  /// The number of bytes of a response's body that must arrive if it has as many.
  static let longestAnswer = 65_536

  /// Creates a channel. Connects when it delivers.
  public init(_ channel: ChannelDTO, secrets: ChannelSecrets) {
    self.init(channel, secrets: secrets, deadline: Self.deadline)
  }

  init(
    _ channel: ChannelDTO, secrets: ChannelSecrets, deadline: Duration, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.channel = channel
    self.secrets = secrets
    self.now = now
    transport = HTTPTransport(timeout: deadline, longestTransfer: deadline)
  }

  /// Returns `.available`; whether the server accepts messages shows only on delivery.
  public func availability() async -> ChannelAvailability { .available(detail: channel.host) }

  /// Delivers a notification without the changes that it covers.
  public func deliver(_ content: NotificationContent) async throws {
    try await deliver(NotificationMessage(content: content))
  }

  /// Sends a message.
  public func deliver(_ message: NotificationMessage) async throws {
    let (target, token) = try await channel.target(secrets)
    let date = now()
    let parts: WebhookRequest
    do {
      parts = try WebhookRequest(message, kind: channel.kind, to: target.url, token: token, at: date)
    } catch {
      throw ChannelError(
        "The message could not be made: \(error.localizedDescription)", isTemporary: false, isAboutMessage: true)
    }
    let request = HTTPRequest(
      url: parts.url, headers: [("User-Agent", "Watchify/0.1")] + parts.headers,
      upload: HTTPRequest.Upload(method: parts.method, body: parts.body), certificates: channel.options.certificates,
      reach: target.reach)
    let answer: HTTPAnswer
    do {
      answer = try await transport.send(request, limit: HTTPTransport.BodyLimit(bytes: Self.longestAnswer, cuts: true))
    } catch { throw report(error) }
    try check(answer, at: date)
  }

  /// Throws unless the server has accepted the message.
  private func check(_ answer: HTTPAnswer, at date: Date) throws {
    let host = channel.host
    let wait = ShopAnswers.retryAfter(answer, now: date)
    switch answer.status {
    case 200...299: return
    case 300...399:
      throw ChannelError(
        "\(host) redirects to another address, which is not followed: add the channel with the new one.",
        isTemporary: false)
    case 401, 403:
      throw ChannelError(
        "\(host) refuses the channel's address or token (\(answer.status)): remove the channel and add it again.",
        isTemporary: false)
    case 404, 410:
      throw ChannelError(
        "\(host) has no such webhook (\(answer.status)): remove the channel, or add it with the right address.",
        isTemporary: false)
    case 429:
      throw ChannelError("\(host) asks for a pause: too many requests (429).", isTemporary: true, retryAfter: wait)
    case 408, 425: throw ChannelError("\(host) did not take the message (\(answer.status)).", isTemporary: true)
    case 400, 413, 422:
      throw ChannelError("\(host) refuses the message (\(answer.status)).", isTemporary: false, isAboutMessage: true)
    case 400...499: throw ChannelError("\(host) refuses the message (\(answer.status)).", isTemporary: false)
    default: throw ChannelError("\(host) failed (\(answer.status)).", isTemporary: true, retryAfter: wait)
    }
  }

  /// Converts an error of the transport, whose own texts may contain the address.
  private func report(_ error: any Error) -> ChannelError {
    let host = channel.host
    switch error {
    case let error as UnansweredUpload:
      var reported = report(error.cause)
      reported.isUncertain = true
      return reported
    case let error as InsecureConnection:
      return ChannelError("\(error.sentence) Nothing was sent.", isTemporary: true)
    case let error as ForbiddenAddress:
      return ChannelError(
        "\(host) is at the private address \(error.address), which the channel may not use: add it with "
          + "--allow-private if that is meant. Nothing was sent.", isTemporary: true)
    case is CancellationError:
      return ChannelError("The delivery was interrupted.", isTemporary: true, isUncertain: true)
    case let error as URLError:
      switch error.code {
      case .timedOut: return ChannelError("\(host) did not answer in time.", isTemporary: true)
      case .cannotFindHost: return ChannelError("\(host) was not found.", isTemporary: true)
      case .cannotConnectToHost: return ChannelError("\(host) cannot be reached.", isTemporary: true)
      default: return ChannelError("The connection to \(host) failed.", isTemporary: true)
      }
    case is Curl.Missing: return ChannelError(error.localizedDescription, isTemporary: true)
    default: return ChannelError("The connection to \(host) failed.", isTemporary: true)
    }
  }
}

extension ChannelDTO {
  /// Creates the channel that delivers.
  public func delivery(secrets: ChannelSecrets) -> any NotificationChannel {
    kind == .email ? MailChannel(self, secrets: secrets) : WebhookChannel(self, secrets: secrets)
  }

  /// Returns the address, which is checked again, and the token.
  /// - Throws: ``ChannelError``.
  func target(_ secrets: ChannelSecrets) async throws -> (target: ChannelTarget, token: String?) {
    let secret: ChannelSecret?
    do { secret = try await secrets.secret(of: id) } catch {
      let words = (error as? StorageError).map { "\($0.message) \($0.advice)" } ?? error.localizedDescription
      throw ChannelError(
        "The channel's secret cannot be read: \(words.trimmingCharacters(in: .whitespaces))", isTemporary: true)
    }
    guard let secret else {
      throw ChannelError(
        "The channel's secret is missing: remove the channel '\(name)' and add it again.", isTemporary: false)
    }
    do {
      let target = try ChannelTarget(secret.address, kind: kind, allowsPrivate: options.allowsPrivate)
      return (target, secret.token)
    } catch { throw ChannelError(error.localizedDescription, isTemporary: false) }
  }
}
