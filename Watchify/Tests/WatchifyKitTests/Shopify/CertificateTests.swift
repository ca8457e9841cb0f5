import CofferSQLite
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// TLS with certificates of the test's own authority. Names below `.localhost` are this device (RFC 6761).
@Suite("Certificates of shops", .serialized, .timeLimit(.minutes(15)))
struct CertificateTests {
  private func use(
    _ authorities: URL?, _ body: (StoreService, JumpingClock) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: directory.path("watchify.db")))
    let time = JumpingClock()
    var configuration = ShopifyClient.Configuration()
    configuration.authorities = authorities
    let client = ShopifyClient(configuration: configuration, gate: RequestGate(clock: time.clock))
    let service = await StoreService.makeBackground(container: container, api: client, now: { time.now })
    do { try await body(service, time) } catch {
      try? await container.close()
      throw error
    }
    try await container.close()
  }

  private func shop() throws -> (ReplayServer, Int) {
    let shop = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
    try shop.start()
    guard let port = shop.port else { throw TestFailure("no port") }
    return (shop, Int(port))
  }

  @Test("A valid certificate of a known authority is accepted")
  func valid() async throws {
    let (shop, port) = try shop()
    defer { shop.stop() }
    let front = try TLSFront(.valid, forwardingTo: port)
    try await use(front.authorities) { service, _ in
      _ = try await service.addStore(name: nil, domain: "https://tarn.localhost:\(front.port)", country: nil)
      #expect(try await service.stores().first?.cachedProductCount == 48)
    }
  }

  @Test(
    "Any other is refused with a sentence; nothing is sent, nothing is lost, nothing is tried again",
    arguments: zip(
      [TLSFront.Certificate.expired, .notYetValid, .wrongName, .selfSigned, .unknownIssuer],
      ["has expired", "is not valid yet", "belongs to another site", "signed by itself", "not signed by a known"]))
  func flaws(_ certificate: TLSFront.Certificate, _ words: String) async throws {
    let (shop, port) = try shop()
    defer { shop.stop() }
    let good = try TLSFront(.valid, forwardingTo: port)
    let bad = try TLSFront(certificate, forwardingTo: port)
    // Both authorities are known, except that of the unknown issuer.
    var known = try Data(contentsOf: good.authorities)
    known += try Data(contentsOf: bad.authorities)
    let directory = try TemporaryDirectory()
    let file = URL(fileURLWithPath: directory.path("known.pem"))
    try known.write(to: file)
    try await use(file) { service, time in
      let id = try await service.addStore(name: nil, domain: "https://tarn.localhost:\(good.port)")
      // The certificate changes while the shop is followed.
      let sql = "UPDATE stores SET domain = 'tarn.localhost:\(bad.port)'"
      try await service.modelContainer.database.write { try $0.execute(sql) }
      let asked = shop.requests.count
      time.advance(by: .seconds(61))
      do {
        try await service.sync(id)
        Issue.record("A certificate that is \(certificate) was accepted.")
      } catch let error as SyncFailure {
        guard case .networkUnavailable(.insecure(let reason)) = error else { throw error }
        #expect(reason.contains(words) && reason.contains("tarn.localhost"), "\(reason)")
        #expect(error.recoverySuggestion?.contains("stored data is kept") == true)
      }
      #expect(shop.requests.count == asked)
      let store = try #require(try await service.stores().first)
      #expect(store.cachedProductCount == 48 && store.lastError?.contains(words) == true)
      await #expect(throws: SyncFailure.self) { try await service.sync(id) }
    }
  }

  @Test("Plain HTTP at the port of a secure shop is refused")
  func plain() async throws {
    let (shop, port) = try shop()
    defer { shop.stop() }
    try await use(nil) { service, _ in
      do {
        _ = try await service.addStore(name: nil, domain: "https://tarn.localhost:\(port)", country: nil)
        Issue.record("A plain connection was used.")
      } catch SyncFailure.networkUnavailable(.insecure(let reason)) {
        #expect(reason.contains("does not use TLS"), "\(reason)")
      }
      #expect(shop.requests.isEmpty)
    }
  }
}
