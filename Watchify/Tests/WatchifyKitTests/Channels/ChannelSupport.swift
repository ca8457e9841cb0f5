import Coffer
import CofferSecrets
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// A sealed file with secrets in a temporary directory.
func temporarySecrets(_ directory: TemporaryDirectory) -> ChannelSecrets {
  let file = URL(fileURLWithPath: directory.path("secrets.sealed"))
  return ChannelSecrets(SecretChain(.sealed(file, passphrase: .provided { Data("correct horse".utf8) })))
}

/// Returns an added channel that delivers to a server on this device.
func localChannel(
  _ kind: ChannelKind = .json, name: String = "hook", path: String = "/hook", port: Int, token: String? = nil,
  allowsPrivate: Bool = true, scheme: String = "http", host: String = "127.0.0.1", digest: DailyTime? = nil,
  certificates: String? = nil, secrets: ChannelSecrets
) async throws -> ChannelDTO {
  var options = ChannelOptions()
  options.allowsPrivate = allowsPrivate
  options.certificates = certificates
  if kind == .email { (options.sender, options.recipients) = ("shop@example.org", ["ada@example.org"]) }
  let channel = ChannelDTO(
    name: name, kind: kind, host: "\(host):\(port)", options: options, digest: digest,
    addedAt: Date(timeIntervalSince1970: 1_790_000_000))
  let address = "\(scheme)://\(host):\(port)\(path)"
  try await secrets.store(ChannelSecret(address: address, token: token), for: channel.id)
  return channel
}

/// Returns an error of a delivery.
func failure(
  _ channel: any NotificationChannel, _ message: NotificationMessage = .test,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> ChannelError? {
  do {
    try await channel.deliver(message)
    Issue.record("no error", sourceLocation: sourceLocation)
    return nil
  } catch {
    let error = error as? ChannelError
    if error == nil { Issue.record("another error", sourceLocation: sourceLocation) }
    return error
  }
}

/// A message about one product whose title attacks every markup.
func hostileMessage() -> NotificationMessage {
  let title = #"@everyone <!channel> **x** [y](https://evil.example) "</b><script>" \ {{t}}"# + "\r\nX: 1"
  let event = ChangeEventDTO(
    id: UUID(), changeType: .priceDropped, productTitle: title, variantTitle: "<@U123> @room",
    oldValue: "$100.00", newValue: "$70.00", magnitude: .large, productShopifyId: 7, variantShopifyId: 8,
    occurredAt: Date(timeIntervalSince1970: 1_790_000_000), storeId: UUID(), storeName: "Shop & <Co>", currency: "USD",
    oldPrice: 100, newPrice: 70)
  let content = NotificationContent(
    title: "Shop & <Co>", body: title + ": $70.00", threadIdentifier: "t", priority: .timeSensitive)
  return NotificationMessage(
    content: content, events: [event], links: [event.id: "https://shop.example/products/x"])
}
