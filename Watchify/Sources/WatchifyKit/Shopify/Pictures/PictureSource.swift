import CofferCore
import Foundation

/// Requests pictures of products from the servers that shops name.
///
/// It sends neither cookies nor a referrer, follows no redirects, reads at most ``largestPicture`` bytes and connects
/// to no private address, so that a shop cannot make this device ask its own network.
public final class PictureSource: Sendable {
  /// The largest picture, in bytes.
  public static let largestPicture = 4 << 20
  /// The number of requests at a time.
  private static let lanes = 3
  /// The width in pixels that Shopify's server scales pictures to.
  private static let width = "640"

  private let transports: [HTTPTransport]
  private let turn = Locked(0)

  /// Creates a source.
  public init() {
    transports = (0..<Self.lanes).map { _ in HTTPTransport(timeout: .seconds(10), longestTransfer: .seconds(30)) }
  }

  /// Requests a picture.
  /// - Parameters:
  ///   - address: the address that the shop states.
  ///   - isLocal: whether the shop is on this device, where its pictures may then be too.
  /// - Returns: The picture; `nil` if the address is not one of the web or the answer is no picture.
  /// - Throws: `URLError` if the server does not answer, `CancellationError`.
  public func picture(at address: String, isLocal: Bool) async throws -> ShopPicture? {
    guard let url = Self.url(address, isLocal: isLocal) else { return nil }
    let lane = turn.withLock { turn in
      turn = (turn + 1) % Self.lanes
      return turn
    }
    let request = HTTPRequest(
      url: url,
      headers: [
        ("User-Agent", ShopifyClient.Configuration().userAgent), ("Accept", "image/avif,image/webp,image/*;q=0.8"),
      ],
      reach: isLocal ? .thisDevice : .internet)
    do {
      let answer = try await transports[lane].send(request, limit: .init(bytes: Self.largestPicture))
      return answer.status == 200 ? ShopPicture(answer.body) : nil
    } catch is AnswerTooLarge { return nil } catch is ForbiddenAddress { return nil }
  }

  private static func url(_ address: String, isLocal: Bool) -> URL? {
    let whole = address.hasPrefix("//") ? "https:" + address : address
    guard var parts = URLComponents(string: whole), let scheme = parts.scheme?.lowercased(),
      scheme == "https" || scheme == "http", parts.host?.isEmpty == false, parts.user == nil
    else { return nil }
    // Pictures of the web are requested over TLS even if the shop states otherwise.
    if !isLocal { parts.scheme = "https" }
    let items = parts.queryItems ?? []
    if !items.contains(where: { $0.name == "width" }) {
      parts.queryItems = items + [URLQueryItem(name: "width", value: width)]
    }
    return parts.url
  }
}
