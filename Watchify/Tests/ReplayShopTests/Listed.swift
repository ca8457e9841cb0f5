import Foundation
import ReplayShop
@_exported import WatchifyTestSupport

/// Only the members that the tests read.
struct Listed: Decodable {
  struct Product: Decodable, Equatable {
    struct Variant: Decodable, Equatable {
      let id: Int
      let title: String
      let price: String
      let compareAtPrice: String?
      let available: Bool
    }
    struct Image: Decodable, Equatable { let src: String }
    let id: Int
    let title, handle, updatedAt: String
    let variants: [Variant]
    let images: [Image]
  }
  let products: [Product]

  init(_ data: Data) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    self = try decoder.decode(Listed.self, from: data)
  }
}

extension RawAnswer {
  func products() throws -> [Listed.Product] {
    try Listed(Data(body)).products
  }
}

/// Returns a shop with a changed configuration.
func settings(_ change: (inout ReplayConfiguration) -> Void) -> ReplayConfiguration {
  var configuration = ReplayConfiguration()
  change(&configuration)
  return configuration
}

/// Runs a body with a server that is stopped at the end.
func withServer<R>(
  _ feed: ShopFeed = ShopGenerator(products: 10, variants: 2).feed, timeline: ReplayTimeline? = nil,
  _ configuration: ReplayConfiguration = ReplayConfiguration(),
  _ body: (ReplayServer, UInt16) async throws -> R
) async throws -> R {
  let server = ReplayServer(feed: feed, configuration: configuration, timeline: timeline)
  let port = try server.start()
  defer { server.stop() }
  return try await body(server, port)
}
