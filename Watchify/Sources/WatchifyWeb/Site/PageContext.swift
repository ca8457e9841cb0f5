import Foundation
import WatchifyHTTP
import WatchifyKit

/// What every page shows besides its content.
struct PageContext: Sendable {
  let request: HTTPRequest
  let options: SiteOptions
  /// The followed stores, ordered by name.
  let stores: [StoreDTO]
  /// The number of unread pieces of news.
  let unread: Int
  /// The pauses in effect.
  let rests: [RequestGate.Rest]
  let health: SiteHealth
  let pictures: ProductPictures
  let moments: Moments

  /// Returns a form that changes something, with the token that proves that it comes from this site.
  func form(
    _ action: Link, _ look: String? = nil, id: String? = nil, @HTMLBuilder _ content: () throws -> HTML
  ) rethrows -> HTML {
    try tag(.form, .set(.id, id), .set(.method, "post"), .action(action), .class(look)) {
      if let token = options.formToken(request) { hiddenField("csrf", token) }
      try content()
    }
  }

  /// Returns a form with a single button.
  func button(_ text: String, _ action: Link, _ fields: [(name: String, value: String)] = [], look: String = "quiet")
    -> HTML
  {
    form(action, "inline") {
      for field in fields { hiddenField(field.name, field.value) }
      tag(.button, .set(.type, "submit"), .class(look)) { text }
    }
  }

  /// Returns the link to a feed, which contains the token that opens it.
  func feed(_ items: [(name: String, value: String)]) -> Link {
    Link(["feed.atom"], items + (options.feedToken.map { [(SiteAccess.feedField, $0)] } ?? []))
  }

  /// Returns the link to a picture of a product; `nil` if pictures are off or the address is none of the web.
  func picture(_ store: UUID?, _ product: Int64?, _ address: String?, number: Int = 0) -> Link? {
    guard let address, let outside = Link(outside: address) else { return nil }
    switch pictures {
    case .off: return nil
    case .direct: return outside
    case .cached:
      guard let store, let product else { return nil }
      return Link(["pictures", store.uuidString.lowercased(), String(product), String(number)])
    }
  }
}

/// Returns a field of a form that is not shown.
func hiddenField(_ name: String, _ value: String) -> HTML {
  tag(.input, .set(.type, "hidden"), .set(.name, name), .set(.value, value))
}

extension StoreDTO {
  /// The last components of the store's address on the site.
  var path: [String] { ["shops", id.uuidString.lowercased()] }
  /// The link to the store's page.
  var link: Link { Link(path) }

  /// Returns the link to the page of one of its products.
  func link(product: Int64, variant: Int64? = nil) -> Link {
    Link(path + ["products", String(product)], variant.map { [("variant", String($0))] } ?? [])
  }
}
