import Foundation

/// The JSON that the shape `json` sends: version 1. Members are only added; a member without a value is omitted.
struct WebhookPayload: Encodable {
  struct Store: Encodable {
    var id: String
    var name: String
  }

  struct Event: Encodable {
    var id: String
    var type: String
    var at: String
    var storeId: String?
    var store: String?
    var product: String?
    var productId: Int64?
    var variant: String?
    var variantId: Int64?
    var url: String?
    var currency: String?
    var oldPrice: String?
    var newPrice: String?
    var oldValue: String?
    var newValue: String?
    var magnitude: String
    var isUnsure: Bool
  }

  /// The maximum number of events in one message.
  static let longestList = 200

  var version = 1
  /// "news", "missed" or "test".
  var kind: String
  /// The identifier of the message, the same for a repetition with the same events.
  var id: String
  var sentAt: String
  var title: String
  var text: String
  var priority: String
  var events: [Event]
  /// The number of further events.
  var more: Int

  init(_ message: NotificationMessage, at now: Date) {
    kind = message.kind.rawValue
    id = message.identifier
    sentAt = now.formatted(.iso8601)
    title = message.content.title
    text = message.content.body
    priority =
      switch message.content.priority {
      case .passive: "passive"
      case .active: "active"
      case .timeSensitive: "timeSensitive"
      }
    events = message.events.prefix(Self.longestList).map { Event($0, message.links[$0.id]) }
    more = message.events.count - events.count
  }
}

extension WebhookPayload.Event {
  init(_ event: ChangeEventDTO, _ link: String?) {
    id = event.id.uuidString
    type = event.changeType.rawValue
    at = event.occurredAt.formatted(.iso8601)
    (storeId, store) = (event.storeId?.uuidString, event.storeName)
    product = event.productTitle.isEmpty ? nil : event.productTitle
    (productId, variant, variantId) = (event.productShopifyId, event.variantTitle, event.variantShopifyId)
    (url, currency) = (link, event.currency)
    oldPrice = event.oldPrice.map { Price("\($0)")?.description ?? "\($0)" }
    newPrice = event.newPrice.map { Price("\($0)")?.description ?? "\($0)" }
    (oldValue, newValue) = (event.oldValue, event.newValue)
    (magnitude, isUnsure) = (event.magnitude.rawValue, event.isUnsure)
  }
}

extension NotificationMessage {
  /// The identifier of the message: those of its first and last event and their number, so that a repetition of the
  /// same message has the same one; a message without events has one of its own.
  var identifier: String {
    guard let first = events.first, let last = events.last else { return id.uuidString }
    return "\(first.id.uuidString)-\(last.id.uuidString)-\(events.count)"
  }
}
