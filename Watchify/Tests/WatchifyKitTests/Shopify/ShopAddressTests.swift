import Foundation
import Testing

@testable import WatchifyKit

@Suite("Addresses entered by users")
struct ShopAddressTests {
  @Test(
    "are converted to domains",
    arguments: [
      ("https://www.allbirds.com/products/x?y", "allbirds.com"), ("Allbirds.com/", "allbirds.com"),
      ("allbirds", "allbirds.com"), ("  ALLBIRDS.COM  \n", "allbirds.com"), ("www.allbirds.com", "allbirds.com"),
      ("HTTP://allbirds.com", "allbirds.com"), ("https://me:secret@allbirds.com:443/", "allbirds.com"),
      ("allbirds.com.", "allbirds.com"), ("allbirds.myshopify.com", "allbirds.myshopify.com"),
      ("shop.example.co.uk#top", "shop.example.co.uk"), ("www.com", "www.com"),
      ("https://example.com:8443/x", "example.com:8443"), ("http://127.0.0.1:8080", "127.0.0.1:8080"),
      ("127.0.0.1", "127.0.0.1"), ("localhost:9000/products", "localhost:9000"), ("[::1]:80", "[::1]"),
      ("https://müller.de/x", "xn--mller-kva.de"), ("XN--MLLER-KVA.de", "xn--mller-kva.de"),
      ("https://192.168.1.1:8443/x", "192.168.1.1:8443"), ("10.1.2.3", "10.1.2.3"), ("172.31.0.1", "172.31.0.1"),
    ])
  func valid(_ pasted: String, _ domain: String) throws {
    let address = try ShopAddress(pasted)
    #expect(address.domain == domain)
    #expect(try ShopAddress(address.domain) == address)
  }

  @Test(
    "are rejected with a reason if invalid",
    arguments: [
      "", "   ", "https://", "/products", "two words", "ftp://allbirds.com", "javascript://x", "allbirds..com",
      "-allbirds.com", "allbirds-.com", "all_birds.com", "192.168.1.256", "172.32.0.1", "169.254.169.254", "0.0.0.0",
      "8.8.8.8:80", "10.1", "allbirds.com:0",
      "allbirds.com:99999", "allbirds.com:http", "[fe80::1]", "127.0.0.256", "127.1", "a.com\r\nHost: b.com",
      "all%62irds.com", String(repeating: "a", count: 64) + ".com",
      Array(repeating: "abcdefgh", count: 30).joined(separator: ".") + ".com", "🛒 .com", "a.com:+80",
    ])
  func invalid(_ pasted: String) {
    let error = #expect(throws: ShopAddress.Invalid.self) { try ShopAddress(pasted) }
    #expect(error?.localizedDescription.hasPrefix("Not a valid Shopify store: ") == true)
  }

  @Test("A private IP address is requested only if entered: no redirect leads there")
  func ownNetwork() throws {
    #expect(try ShopAddress("10.1.2.3").reach == .anywhere)
    #expect(try ShopAddress("shop.example").reach == .internet)
    let url = try #require(URL(string: "https://10.1.2.3/products.json"))
    #expect(ShopAnswers.fault(ofRedirectTo: url) == .notShopify)
  }

  @Test("Loopback is requested over HTTP, everything else over HTTPS")
  func urls() throws {
    let shop = try ShopAddress("allbirds.com")
    #expect(
      shop.url("/products.json", query: [.init(name: "page", value: "1")])?.absoluteString
        == "https://allbirds.com/products.json?page=1")
    #expect(shop.url("/", host: "www.allbirds.com")?.absoluteString == "https://www.allbirds.com/")
    #expect(try ShopAddress("127.0.0.1:80").url("/x")?.absoluteString == "http://127.0.0.1/x")
    #expect(try ShopAddress("[::1]:8080").url("/x")?.absoluteString == "http://[::1]:8080/x")
    #expect(try ShopAddress("müller.de").url("/x")?.absoluteString == "https://xn--mller-kva.de/x")
  }

  @Test("Only the same site counts as the same, and never over a weaker scheme")
  func site() throws {
    func onSite(_ shop: String, _ url: String) throws -> String? {
      try ShopAddress(shop).onSite(try #require(URL(string: url)))?.absoluteString
    }
    #expect(try onSite("a.com", "https://www.a.com/x?y=1") == "https://www.a.com/x?y=1")
    #expect(try onSite("www.a.com", "https://a.com/x") == "https://a.com/x")
    #expect(try onSite("a.com", "http://a.com:80/x") == "https://a.com/x")
    #expect(try onSite("a.com", "https://u:p@a.com/x") == "https://a.com/x")
    #expect(try onSite("a.com", "https://shop.a.com/x") == nil)
    #expect(try onSite("a.com", "https://b.com/x") == nil)
    #expect(try onSite("a.com", "https://a.com:8443/x") == nil)
    #expect(try onSite("a.com", "https://a.com.b.com/x") == nil)
    #expect(try onSite("a.com", "https://a.com@b.com/x") == nil)
    #expect(try onSite("a.com", "http://127.0.0.1/x") == nil)
    #expect(try onSite("127.0.0.1:80", "http://127.0.0.1:81/x") == nil)
  }
}
