import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import Watchify

@Suite("products, product, export", .serialized)
struct ProductTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Lists can be searched, narrowed, sorted and paged")
  func lists() async throws {
    let soldOut = ReplayTimeline.demoShop.product(40).id
    try sandbox.shop.update { try $0.sellOut(soldOut) }
    try await sandbox.follow()
    let first = try await sandbox.watchify("products", "Tarn", "--limit", "5")
    #expect(first.lines.count == 6 && first.lines[0].contains("1-5 of 48 products"), "\(first.text)")
    let page = try await sandbox.watchify("products", "Tarn", "--limit", "2", "--offset", "4", "--json").json()
    let products = try #require(page["products"] as? [NSDictionary])
    #expect(page["total"] as? Int == 48 && page["offset"] as? Int == 4 && products.count == 2)
    #expect(first.lines[5].hasPrefix(try #require(products[0]["title"] as? String)))
    let found = try await sandbox.watchify("products", "Tarn", "--search", "CÓRK tarn", "--json").json()
    let match = try #require((found["products"] as? [NSDictionary])?.first)
    #expect(found["total"] as? Int == 1 && match["handle"] as? String == "tarn-cork-mat")
    #expect(match["price"] as? String == "97.00" && match["currency"] as? String == "USD")
    var prices: [Double] = []
    let sorted = try await sandbox.watchify("products", "Tarn", "--sort", "-price", "--json").json()
    for product in try #require(sorted["products"] as? [NSDictionary]) {
      prices.append(try #require(Double(product["price"] as? String ?? "")))
    }
    #expect(prices == prices.sorted(by: >) && prices.count == 48)
    let counts = try await ["in", "out"].asyncMap {
      try await sandbox.watchify("products", "Tarn", "--stock", $0, "--json").json()["total"] as? Int ?? 0
    }
    #expect(counts.reduce(0, +) == 48 && counts[1] == 1, "\(counts)")
    let wrong = try await sandbox.watchify("products", "Tarn", "--sort", "size")
    #expect(wrong.status == 2 && wrong.errors.contains("--sort takes one of name, price, -price, new"))
  }

  @Test("A product is shown with its variants, prices and a chart")
  func product() async throws {
    try await sandbox.followWithNews()
    let shown = try await sandbox.watchify("product", "Tarn", "tarn-cork-mat", "--width", "60")
    #expect(shown.status == 0 && shown.text.contains("Regular / Chalk  $67.90  was $97.00  in stock"), "\(shown.text)")
    #expect(shown.text.contains("▲ highest $97.00   ▼ lowest $67.90") && shown.text.contains("From $97.00 on "))
    #expect(shown.lines.drop { !$0.hasPrefix("Price of") }.allSatisfy { $0.count <= 60 })
    #expect(shown.text.contains("http://127.0.0.1:"))
    let ascii = try await sandbox.watchify("product", "Tarn", "Tarn Cork Mat", "--ascii", "--variant", "Long / Chalk")
    #expect(ascii.text.utf8.allSatisfy { $0 < 0x80 } || ascii.text.contains("·"))
    #expect(ascii.text.contains("Price of Long / Chalk") && !ascii.text.contains("▲"))
    let json = try await sandbox.watchify("product", "Tarn", "cork tarn", "--json").json()
    let variants = try #require(json["variants"] as? [NSDictionary])
    let history = try #require(variants.first?["history"] as? [NSDictionary])
    #expect(variants.count == 3 && history.map { $0["price"] as? String } == ["97.00", "67.90"])
    #expect(variants[0]["compareAtPrice"] as? String == "97.00")
    let id = try #require(json["id"] as? Int)
    for name in ["\(id)", "\(sandbox.address)/products/tarn-cork-mat?variant=1"] {
      #expect(try await sandbox.watchify("product", "Tarn", name).text.contains("Tarn Cork Mat"), "\(name)")
    }
  }

  @Test("An unknown or ambiguous name is an error with the available ones")
  func errors() async throws {
    try await sandbox.follow()
    let unknown = try await sandbox.watchify("product", "Tarn", "no such thing")
    #expect(unknown.status == 3 && unknown.errors.contains("has no product 'no such thing'"))
    let several = try await sandbox.watchify("product", "Tarn", "mat")
    #expect(several.status == 2 && several.errors.contains("Give its handle"))
    let variant = try await sandbox.watchify("product", "Tarn", "tarn-cork-mat", "--variant", "Giant", "--json")
    #expect(try variant.status == 3 && variant.errorJSON()["code"] as? String == "variantNotFound")
    #expect(try await sandbox.watchify("product", "Tarn").status == 2)
  }

  @Test("The export has every price point, as CSV and as JSON lines")
  func export() async throws {
    try await sandbox.followWithNews()
    let csv = try await sandbox.watchify("export", "Tarn", "--csv")
    #expect(csv.lines.first == ExportRow.heading && csv.lines.count == 1 + 209 + 4)
    let lines = try await sandbox.watchify("export", "Tarn", "--json").jsonLines()
    #expect(lines.count == 213 && lines.allSatisfy { $0["currency"] as? String == "USD" })
    #expect(lines.allSatisfy { $0["storeName"] as? String == "Tarn & Lotus" })
    #expect(
      csv.lines[1].contains(",\(sandbox.address.replacing("http://", with: "")),Tarn & Lotus,"), "\(csv.lines[1])")
    let mats = lines.filter { $0["handle"] as? String == "tarn-cork-mat" }
    #expect(Set(mats.compactMap { $0["price"] as? String }) == ["97.00", "67.90"])
    #expect(try await sandbox.watchify("export", "Tarn", "--csv", "--json").status == 2)
  }

  @Test("A cell of CSV is data, never a formula")
  func cells() {
    #expect(ExportRow.cell("plain") == "plain" && ExportRow.cell("a,\"b\"") == "\"a,\"\"b\"\"\"")
    #expect(ExportRow.cell("=1+1") == "'=1+1" && ExportRow.cell("-5.00") == "-5.00")
  }
}

extension Array {
  func asyncMap<R>(_ body: (Element) async throws -> R) async rethrows -> [R] {
    var results: [R] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
