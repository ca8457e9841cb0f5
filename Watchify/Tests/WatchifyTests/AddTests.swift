import CofferTesting
import Foundation
import ReplayShop
import Testing

@Suite("Remarks of add about a shop", .serialized)
struct AddTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A requested market that is not served")
  func market() async throws {
    let ended = try await sandbox.watchify("add", sandbox.address, "--country", "CA")
    let words = "Requested CA and received USD, not CAD: the shop does not serve that market."
    #expect(ended.status == 0 && ended.text.contains(words), "\(ended.text)")
    let other = try Sandbox()
    #expect(!(try await other.watchify("add", other.address, "--country", "US")).text.contains("Requested US"))
  }

  @Test("For a shop with neither a country nor a currency of a single one, none is requested")
  func noCountry() async throws {
    sandbox.shop.configure { shop in
      shop.currency = "EUR"
      shop.faults = { $0.hasPrefix("/meta.json") ? .status(404) : nil }
    }
    let ended = try await sandbox.watchify("add", sandbox.address)
    #expect(ended.status == 0 && ended.text.contains("The shop states no country"), "\(ended.text) \(ended.errors)")
    #expect(ended.text.contains("'watchify edit STORE --country XX'"))
  }

  @Test("An interrupted list is not taken for a complete one, and an empty one is reported")
  func part() async throws {
    sandbox.shop.configure { shop in
      shop.faults = { $0.hasPrefix("/products.json") && $0.contains("page=2") ? .status(400) : nil }
    }
    let broken = try await sandbox.watchify("add", sandbox.address)
    let words = broken.errors.replacing("\n", with: " ")
    #expect(
      broken.status != 0 && words.contains("answered page 2 of its list with an error."), "\(broken.text)\(words)")
    let other = try Sandbox()
    other.shop.set(feed: ShopGenerator(seed: 1, products: 0).feed)
    let empty = try await other.watchify("add", other.address)
    #expect(empty.status == 0 && empty.text.contains("The store lists no products."), "\(empty.text)\(empty.errors)")
  }

  @Test("A price above zero is never shown as a change of -100 %")
  func percent() async throws {
    try await sandbox.follow()
    try await sandbox.sql("UPDATE variants SET price = 1000000000, told_price = NULL; DELETE FROM validators")
    try await sandbox.forgetAttempts()
    try await sandbox.watchify("sync")
    let news = try await sandbox.watchify("activity").text
    #expect(news.contains("-99") && !news.contains("-100"), "\(news)")
  }

  @Test("A watch prints the shop and end of a pause")
  func pause() async throws {
    try await sandbox.follow()
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .status(429))
    let watch = try sandbox.startWatchify("watch")
    try await eventually("the pause") { try watch.output().contains(": has asked for a pause; paused until ") }
    #expect(try watch.output().contains("'watchify resume 127.0.0.1:"))
    watch.signal(SIGTERM)
    #expect(try await watch.ended().status == 0)
  }

  @Test("Eight digits of an id are sufficient to remove a store; seven are not")
  func remove() async throws {
    try await sandbox.follow()
    let stores = try await sandbox.watchify("list", "--json").json()["stores"] as? [NSDictionary]
    let id = try #require(stores?.first?["id"] as? String).lowercased()
    #expect(try await sandbox.watchify("remove", String(id.prefix(7)), "--yes").status == 2)
    #expect(try await sandbox.watchify("remove", String(id.prefix(8)), "--yes").status == 0)
  }
}
