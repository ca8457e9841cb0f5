import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import Watchify

@Suite("wish", .serialized)
struct WishCommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A wish is made, shown, comes true, and is removed")
  func life() async throws {
    try await sandbox.follow()
    let made = try await sandbox.watchify(
      "wish", "Tarn/tarn-cork-mat", "--below", "$70", "--variant", "Long / Chalk", "--until", "90d")
    #expect(
      made.status == 0 && made.text.contains("Tarn Cork Mat, Long / Chalk, $70.00 or less, until "), "\(made.errors)")
    #expect(made.text.contains("(not yet: $97.00)"))
    let search = try await sandbox.watchify("wish", "--search", "cork mat", "--off", "20%", "--json").json()
    #expect(search["search"] as? String == "cork mat" && search["percent"] as? Int == 20)
    let again = try await sandbox.watchify(
      "wish", "add", "\(sandbox.address)/products/tarn-cork-mat", "--below", "70", "--variant", "Long / Chalk", "--json"
    )
    #expect(try again.status == 1 && again.errorJSON()["code"] as? String == "wishExists")
    let product = try await sandbox.watchify("product", "Tarn", "tarn-cork-mat")
    #expect(product.text.contains(": Tarn Cork Mat, Long / Chalk, $70.00 or less"), "\(product.text)")
    try sandbox.shop.advance()
    try await sandbox.forgetAttempts()
    try await sandbox.sql("UPDATE snapshots SET at = at - 8 * 86400000")
    let synced = try await sandbox.watchify("sync")
    #expect(synced.text.contains("$67.90, below your $70.00 · lowest since "), "\(synced.text)")
    let list = try await sandbox.watchify("wish")
    #expect(list.lines.count == 3 && list.text.contains("true: $67.90"), "\(list.text)\(list.errors)")
    let products = try await sandbox.watchify("products", "Tarn", "--search", "cork tarn")
    #expect(products.text.contains("lowest since "), "\(products.text)")
    let json = try await sandbox.watchify("wish", "list", "Tarn", "--json").json()
    let wishes = try #require(json["wishes"] as? [NSDictionary])
    #expect(wishes.count == 2 && wishes.allSatisfy { $0["isTrue"] as? Bool == true })
    let id = try #require(search["id"] as? String)
    let shown = try await sandbox.watchify("wish", "show", String(id.prefix(8)).lowercased())
    #expect(shown.status == 0 && shown.text.contains("*  Tarn Cork Mat"), "\(shown.text)\(shown.errors)")
    let edited = try await sandbox.watchify("wish", "edit", id, "--off", "50")
    #expect(edited.status == 0 && edited.text.contains("50 % off (not yet)"), "\(edited.text)\(edited.errors)")
    #expect(try await sandbox.watchify("wish", "remove", id).text.contains("Removed the wish: search “cork mat”"))
    #expect(try await sandbox.watchify("wish", "remove", id).status == 3)
    #expect(try await sandbox.watchify("activity", "--type", "wish", "--json").text.contains("wishFulfilled"))
    let removed = try await sandbox.watchify("remove", "Tarn & Lotus", "--yes")
    #expect(removed.status == 0)
    #expect(try await sandbox.watchify("wish").text.hasPrefix("There are no wishes."))
  }

  @Test("A wish that is true already says so")
  func alreadyTrue() async throws {
    try await sandbox.follow()
    let made = try await sandbox.watchify("wish", "Tarn/tarn-cork-mat", "--below", "100")
    #expect(made.text.contains("It is true already, so nothing is notified now"), "\(made.text)")
  }

  @Test("Wrong command lines say what is missing")
  func errors() async throws {
    try await sandbox.follow()
    for (line, status, words) in [
      ("wish Tarn --below 70", 2, "is a store: add /PRODUCT"),
      ("wish add Tarn/tarn-cork-mat", 2, "needs one of --below"),
      ("wish Tarn/tarn-cork-mat --below 70 --off 5", 2, "exclude each other"),
      ("wish Tarn/tarn-cork-mat --below abc", 2, "takes an amount"),
      ("wish Tarn/nothing --below 7", 3, "has no product"),
      ("wish Tarn/tarn-cork-mat --off 0", 2, "from 1 to 99"), ("wish Tarn/tarn-cork-mat --new", 2, "Only a search"),
      ("wish --search ' ' --below 7", 2, "1 to 10 words"), ("wish --below 7", 2, "needs a STORE/PRODUCT or --search"),
      ("wish edit", 2, "needs the id"), ("wish edit abcd --below 5", 3, "no wish 'abcd'"),
      ("wish remove", 2, "needs the id"), ("wish Tarn/tarn-cork-mat --below 70 --until yesterday", 2, "--until takes"),
      ("wish nowhere/x --below 70", 3, "no store 'nowhere'"),
      ("wish --search mat --variant L --below 7", 2, "--variant"),
      ("wish Tarn/tarn-cork-mat --below 70 --currency XYZW", 2, "amount above zero"),
    ] {
      let ended = try await sandbox.bash("watchify \(line)")
      #expect(ended.status == status && ended.errors.contains(words), "\(line): \(ended.status) \(ended.errors)")
    }
    #expect(try await sandbox.watchify("wish", "--json").json()["wishes"] as? [NSDictionary] == [])
  }
}
