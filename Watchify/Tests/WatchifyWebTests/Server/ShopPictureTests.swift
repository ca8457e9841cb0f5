import CofferCore
import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

/// Pictures that shops name, from a real server of pictures.
@Suite(.serialized) struct ShopPictureTests {
  private static let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Data(repeating: 7, count: 5_000)

  /// Runs a body with a server of pictures and a cache; the server counts its requests.
  private func withPictures(
    _ body: (_ port: UInt16, _ cache: PictureCache, _ directory: URL, _ requests: Locked<[HTTPRequest]>) async throws ->
      Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let requests = Locked<[HTTPRequest]>([])
    let server = HTTPServer { request in
      requests.withLock { $0.append(request) }
      switch request.path.first {
      case "mat.png": return HTTPResponse(200, "text/html", Array(Self.png))
      case "vector.svg": return HTTPResponse(200, "image/png", "<svg xmlns='http://www.w3.org/2000/svg'/>")
      case "page": return HTTPResponse(200, "image/png", "<!doctype html><script>alert(1)</script>")
      case "huge.png": return HTTPResponse(200, "image/png", Array(Self.png) + [UInt8](repeating: 0, count: 5 << 20))
      case "moved.png": return .redirect(302, to: "/mat.png")
      default: return HTTPResponse(404)
      }
    }
    let port = try server.start()
    let cache = PictureCache(directory: directory.url.appendingPathComponent("pictures"), source: PictureSource())
    let result: Result<Void, any Error>
    do { result = .success(try await body(port, cache, directory.url, requests)) } catch { result = .failure(error) }
    await cache.close()
    await server.stop(grace: .zero)
    try result.get()
  }

  @Test func aPictureIsRequestedOnce() async throws {
    try await withPictures { port, cache, _, requests in
      let address = "http://127.0.0.1:\(port)/mat.png?v=1"
      for _ in 0..<3 {
        let picture = try await cache.picture(at: address, isLocal: true)
        #expect(picture?.kind == .png && picture?.data == Self.png, "the type is that of the bytes")
      }
      let all = requests.withLock { $0 }
      #expect(all.count == 1)
      #expect(all.first?.header("Cookie") == nil && all.first?.header("Referer") == nil)
    }
  }

  @Test(arguments: ["vector.svg", "page", "huge.png", "moved.png", "missing.png"])
  func whatIsNoPictureIsNotShown(path: String) async throws {
    try await withPictures { port, cache, _, requests in
      let address = "http://127.0.0.1:\(port)/\(path)"
      for _ in 0..<2 {
        let picture = try await cache.picture(at: address, isLocal: true)
        #expect(picture == nil)
      }
      #expect(requests.withLock { $0.count } == 1, "it is not asked for again at once")
    }
  }

  /// A shop of the web cannot make this device ask itself or its network.
  @Test(arguments: [
    "http://127.0.0.1:PORT/mat.png", "https://localhost:PORT/mat.png", "//127.0.0.1:PORT/mat.png",
    "http://[::ffff:127.0.0.1]:PORT/mat.png", "file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "",
    "http://me@127.0.0.1:PORT/mat.png", "\n", "http://169.254.169.254/latest/meta-data/",
  ])
  func privateAddressesAreNotAsked(address: String) async throws {
    try await withPictures { port, cache, _, requests in
      let address = address.replacing("PORT", with: "\(port)")
      let picture = try? await cache.picture(at: address, isLocal: false)
      #expect((picture ?? nil) == nil)
      #expect(requests.withLock { $0.isEmpty })
    }
  }

  /// What somebody has put into the folder is shown only if it is a picture; else the shop is asked again.
  @Test func foreignFilesAreNotShown() async throws {
    try await withPictures { port, cache, directory, requests in
      let address = "http://127.0.0.1:\(port)/mat.png"
      #expect(try await cache.picture(at: address, isLocal: true)?.data == Self.png)
      await cache.close()
      let folder = directory.appendingPathComponent("pictures")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
      let file = folder.appendingPathComponent(try #require(names.first))
      try Data("<script>alert(1)</script>".utf8).write(to: file)
      let next = PictureCache(directory: folder, source: PictureSource())
      #expect(try await next.picture(at: address, isLocal: true)?.data == Self.png)
      #expect(requests.withLock { $0.count } == 2)
      await next.close()
    }
  }

  @Test func aPictureIsServedWithHarmlessHeaders() async throws {
    try await withPictures { port, cache, _, _ in
      try await SiteBench.use { bench in
        let address = "http://127.0.0.1:\(port)/mat.png"
        let products = [ShopifyProduct.make(1, "Mat", images: [address])]
        let local = try await bench.follow("127.0.0.1:\(port)", name: "Here", products)
        let outside = try await bench.follow("tarn.example", name: "Tarn", [.make(2, "Mat", images: [address])])
        let pictures = PictureResponse(service: bench.service, cache: cache)
        func get(_ path: String, _ headers: (name: String, value: String)...) async -> HTTPResponse? {
          await pictures.response(to: HTTPRequest("GET", path, headers: headers))
        }
        let response = try #require(await get("/pictures/\(local)/1/0"))
        #expect(response.status == 200 && response.header("Content-Type") == "image/png")
        #expect(response.header("X-Content-Type-Options") == "nosniff")
        #expect(response.header("Content-Security-Policy")?.contains("sandbox") == true)
        let tag = try #require(response.header("ETag"))
        #expect(await get("/pictures/\(local)/1/0", ("If-None-Match", tag))?.status == 304)
        for path in ["\(outside)/2/0", "\(local)/1/1", "\(local)/1/-1", "\(local)/9/0", "x/1/0", "\(UUID())/1/0"] {
          #expect(await get("/pictures/\(path)")?.status == 404, "\(path)")
        }
        #expect(await get("/pictures/1/2") == nil)
        #expect(await pictures.response(to: HTTPRequest("POST", "/pictures/\(local)/1/0"))?.status == 405)
      }
    }
  }
}
