import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Allowed addresses", .serialized, .timeLimit(.minutes(15))) struct NetworkAddressTests {
  @Test(
    "The scope of an address",
    arguments: [
      ("8.8.8.8", NetworkAddress.Scope.internet), ("23.227.38.65", .internet), ("198.18.0.1", .internet),
      ("172.15.255.255", .internet), ("172.32.0.0", .internet), ("100.63.0.1", .internet), ("100.128.0.1", .internet),
      ("127.0.0.1", .thisDevice), ("127.255.3.4", .thisDevice), ("0.0.0.0", .privateNetwork),
      ("10.1.2.3", .privateNetwork), ("100.64.0.1", .privateNetwork), ("100.127.255.255", .privateNetwork),
      ("169.254.169.254", .privateNetwork), ("172.16.0.1", .privateNetwork), ("172.31.255.255", .privateNetwork),
      ("192.168.1.1", .privateNetwork), ("192.0.0.8", .privateNetwork), ("224.0.0.1", .privateNetwork),
      ("255.255.255.255", .privateNetwork), ("203.0.113.1", .privateNetwork),
      ("2606:4700::1111", .internet), ("2620:127:f00f:5::", .internet), ("::1", .thisDevice), ("::", .privateNetwork),
      ("::ffff:127.0.0.1", .thisDevice), ("::ffff:10.0.0.1", .privateNetwork), ("::ffff:8.8.8.8", .internet),
      ("::127.0.0.1", .thisDevice), ("64:ff9b::7f00:1", .thisDevice), ("64:ff9b::a00:1", .privateNetwork),
      ("64:ff9b::808:808", .internet), ("64:ff9b:1::1", .privateNetwork), ("2002:7f00:1::", .thisDevice),
      ("2002:a00:1::", .privateNetwork), ("2001::1", .privateNetwork), ("2001:db8::1", .privateNetwork),
      ("fc00::1", .privateNetwork), ("fd12::1", .privateNetwork), ("fe80::1", .privateNetwork),
      ("fec0::1", .privateNetwork), ("ff02::1", .privateNetwork),
    ])
  func scopes(text: String, scope: NetworkAddress.Scope) throws {
    let address = try #require(NetworkAddress(text))
    #expect(address.scope == scope)
  }

  @Test("A name that resolves to this device is refused, however it is written; a typed address is not")
  func names() async throws {
    let server = try ScriptedServer([.page(1...1), .empty, .page(1...1), .empty])
    defer { server.stop() }
    let transport = HTTPTransport(timeout: .seconds(20), longestTransfer: .seconds(20))
    let hosts = [
      "localhost", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1",
      "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    ]
    for host in hosts {
      let url = try #require(URL(string: "http://\(host):\(server.port)/products.json"))
      do {
        _ = try await transport.send(HTTPRequest(url: url), limit: .init(bytes: 1_000))
        Issue.record("\(host) was asked")
      } catch let error as ForbiddenAddress {
        #expect(error.address.hasSuffix("127.0.0.1") || error.address == "::1", "\(host): \(error)")
      } catch { Issue.record("\(host): \(error)") }
    }
    #expect(server.log.isEmpty)
    // These look like host names, but the system resolves them as addresses.
    for host in ["127.0x1", "0x7f.0.0.0x1"] {
      let fault = await ClientFixture().fault(of: ShopRequest(domain: "\(host):\(server.port)"))
      #expect(fault == .privateAddress("127.0.0.1"), "\(host)")
    }
    #expect(server.log.isEmpty)
    #expect(try await ClientFixture().client.read(ShopRequest(domain: server.domain)).isComplete)
    #expect(try await ClientFixture().client.read(ShopRequest(domain: "localhost:\(server.port)")).isComplete)
  }

  @Test("The reach of a shop's address")
  func reach() throws {
    let reaches: [(String, NetworkReach)] = [
      ("127.0.0.1:8080", .thisDevice), ("localhost", .thisDevice), ("[::1]:80", .thisDevice),
      ("shop.local", .anywhere), ("shop.home.arpa", .anywhere), ("allbirds.com", .internet),
      ("a.myshopify.com", .internet), ("local.com", .internet),
    ]
    for (domain, reach) in reaches {
      let address = try ShopAddress(domain)
      #expect(address.reach == reach, "\(domain)")
    }
  }

  @Test("Shopify's own servers are recognized by what no other server can claim")
  func front() throws {
    let fronts: [(url: String, peer: String?, isFront: Bool)] = [
      ("https://a.myshopify.com/", nil, true), ("https://a.example/", "23.227.38.65", true),
      ("https://a.example/", "2620:127:f00f:5::", true), ("https://a.example/", "23.227.64.1", false),
      ("https://a.example/", nil, false), ("http://127.0.0.1:80/", "127.0.0.1", false),
      ("https://myshopify.com.example/", nil, false), ("https://amyshopify.com/", nil, false),
      ("http://a.myshopify.com/", nil, false),
    ]
    for (url, peer, isFront) in fronts {
      let asked = try #require(URL(string: url))
      #expect(ShopifyFront.serves(asked, peer) == isFront, "\(url) \(peer ?? "")")
    }
  }
}
