import CofferTesting
import Foundation
import ReplayShop
import Testing

@Suite("edit --address", .serialized)
struct MoveCommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("The message names the new address and the command; no redirect to a private address is named")
  func advice() async throws {
    try await sandbox.follow()
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .redirect(308, to: "https://new.example/products.json"))
    let moved = try await sandbox.watchify("sync")
    let domain = try #require(sandbox.shop.url?.absoluteString.replacing("http://", with: ""))
    #expect(moved.errors.contains("The address has moved to new.example."), "\(moved.errors)")
    #expect(moved.errors.contains("watchify edit \(domain) --address new.example"), "\(moved.errors)")
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .redirect(301, to: "http://192.168.7.7/products.json"))
    let inside = try await sandbox.watchify("sync")
    #expect(!inside.errors.contains("192.168") && !inside.errors.contains("--address"), "\(inside.errors)")
    #expect(try await sandbox.watchify("list").text.contains("48  USD (US)"))
  }

  @Test("A shop is followed at its new address, though the old one is dead; headers are not taken along")
  func moves() async throws {
    let added = try await sandbox.watchify("add", sandbox.address, "--header", "Signature: secret-7")
    try #require(added.status == 0, "\(added.errors)")
    let new = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
    try new.start()
    defer { new.stop() }
    let address = try #require(new.url?.absoluteString)
    sandbox.shop.stop()
    let edited = try await sandbox.watchify("edit", "Tarn", "--address", address)
    #expect(edited.status == 0, "\(edited.errors)")
    #expect(
      edited.text.contains("is synced at ") && edited.text.contains("headers were not taken along"), "\(edited.text)")
    #expect(try await sandbox.watchify("edit", "Tarn", "--address", "http://127.0.0.1:9").status == 75)
    try await sandbox.forgetAttempts()
    try new.advance()
    #expect(try await sandbox.watchify("sync").status == 0)
    let product = try await sandbox.watchify("product", "Tarn", "tarn-cork-mat").text
    #expect(product.contains("From $97.00") && product.contains("$67.90"), "\(product)")
  }
}
