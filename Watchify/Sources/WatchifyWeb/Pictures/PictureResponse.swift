import Foundation
import WatchifyHTTP
import WatchifyKit

/// Serves `/pictures/STORE/PRODUCT/NUMBER`.
struct PictureResponse: Sendable {
  let service: StoreService
  let cache: PictureCache

  /// Returns the response to a request for a picture; `nil` if the path is none of a picture.
  func response(to request: HTTPRequest) async -> HTTPResponse? {
    guard request.path.count == 4, request.path[0] == "pictures" else { return nil }
    guard request.method == "GET" || request.method == "HEAD" else {
      return Self.failure(405, "A picture can only be read.").with("Allow", "GET, HEAD")
    }
    guard let store = UUID(uuidString: request.path[1]), let product = Int64(request.path[2]),
      let number = Int(request.path[3]),
      let found = try? await service.pictureAddress(storeId: store, productId: product, number: number)
    else { return Self.failure(404, "There is no such picture.") }
    // Shops name another address for another picture, so the address identifies it.
    let tag = "\"\(Self.hash(found.address))\""
    if request.header("If-None-Match") == tag { return HTTPResponse(304).with("ETag", tag) }
    do {
      guard let picture = try await cache.picture(at: found.address, isLocal: found.isLocal) else {
        return Self.blank(404)
      }
      return HTTPResponse(200, picture.kind.rawValue, Array(picture.data)).with("ETag", tag)
        .with("Cache-Control", "private, max-age=3600").with("X-Content-Type-Options", "nosniff")
        .with("Content-Security-Policy", "default-src 'none'; sandbox")
        .with("Cross-Origin-Resource-Policy", "same-origin")
    } catch is PictureCache.Busy {
      return Self.blank(503).with("Retry-After", "5")
    } catch { return Self.blank(502) }
  }

  private static func failure(_ status: Int, _ text: String) -> HTTPResponse {
    HTTPResponse(status, "text/plain; charset=utf-8", text + "\n").with("Cache-Control", "no-store")
      .with("X-Content-Type-Options", "nosniff")
  }

  /// Returns a transparent pixel with a status of failure: pages show an empty frame instead of a broken picture.
  private static func blank(_ status: Int) -> HTTPResponse {
    HTTPResponse(status, "image/gif", pixel).with("Cache-Control", "no-store")
      .with("X-Content-Type-Options", "nosniff")
  }

  private static let pixel: [UInt8] = [
    0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x21, 0xF9, 4, 1, 0, 0, 0, 0, 0x2C, 0,
    0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B,
  ]

  /// FNV-1a (64 bits): distinguishes the versions of one picture and protects nothing.
  private static func hash(_ text: String) -> String {
    String(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
  }
}
