import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import Watchify

/// A shop with escape sequences, bidirectional controls and invisible characters in every text.
private enum Poison {
  static let text = "\u{1B}]0;x\u{7}\u{1B}[31m\u{9B}31m\u{202E}\u{2066}\u{200F}\u{200B}\u{2028}\r\n\tx"

  /// A page with every field that Shopify sends; all texts except prices are poisoned.
  static func page(_ price: String, available: Bool) throws -> [UInt8] {
    let image: [String: Any] = [
      "id": 5, "created_at": text, "position": 1, "updated_at": text, "product_id": 1, "variant_ids": [11],
      "src": "https://cdn.example/\(text).jpg", "width": 1, "height": 1,
    ]
    let variant: [String: Any] = [
      "id": 11, "title": "V\(text)", "option1": text, "option2": text, "option3": text, "sku": "K\(text)",
      "requires_shipping": true, "taxable": true, "featured_image": image, "available": available, "price": price,
      "grams": 1, "compare_at_price": "99.00", "position": 1, "product_id": 1, "created_at": text,
      "updated_at": text,
    ]
    var other = variant
    (other["id"], other["title"], other["price"]) = (12, "W\(text)", "7.00")
    let product: [String: Any] = [
      "id": 1, "title": "T\(text)", "handle": "h\(text)", "body_html": text, "published_at": text, "created_at": text,
      "updated_at": text, "vendor": "M\(text)", "product_type": "P\(text)", "tags": [text],
      "variants": [variant, other],
      "images": [image], "options": [["name": text, "position": 1, "values": [text]]],
    ]
    return Array(try JSONSerialization.data(withJSONObject: ["products": [product]]))
  }

  static func meta() throws -> [UInt8] {
    Array(
      try JSONSerialization.data(withJSONObject: [
        "id": 1, "name": "N\(text)", "city": text, "province": text, "country": "US\(text)", "currency": "USD\(text)",
        "domain": text, "url": text, "myshopify_domain": "a\(text).myshopify.com", "description": text,
        "ships_to_countries": [text], "money_format": text, "published_products_count": 1,
      ]))
  }

  /// Returns the control and invisible characters of a text, except for line breaks between lines and spaces.
  static func found(in text: String, allowing kept: Set<Unicode.Scalar> = ["\n"]) -> [String] {
    text.unicodeScalars.filter { scalar in
      !kept.contains(scalar)
        && (scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
          || scalar.properties.isDefaultIgnorableCodePoint
          || [.lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }.map { "U+" + String($0.value, radix: 16) }
  }

  /// Returns the same for all strings in JSON, after unescaping.
  static func found(inJSON value: Any) -> [String] {
    switch value {
    case let text as String: found(in: text, allowing: [])
    case let list as [Any]: list.flatMap { found(inJSON: $0) }
    case let members as [String: Any]: members.flatMap { found(in: $0.key) + found(inJSON: $0.value) }
    default: []
    }
  }
}

/// Every field of a feed is sanitized before any command shows it.
@Suite("Texts of a shop", .serialized, .timeLimit(.minutes(15))) struct ShopTextTests {
  /// The arguments of every command; a new command must be added.
  private static func lines(of command: Command) -> [[String]] {
    switch command {
    case .list: [["list"], ["list", "-0"]]
    case .products: [["products", "Poison"]]
    case .product:
      [["product", "Poison", "1"], ["product", "Poison", "1", "--variant", "11"], ["product", "Poison", "x"]]
    case .wish:
      [
        ["wish", "Poison/1", "--below", "1"], ["wish", "Poison/1", "--variant", "11", "--in-stock"], ["wish"],
        ["wish", "--search", "x", "--off", "5"], ["wish", "list", "Poison"], ["wish", "Poison/x", "--below", "2"],
      ]
    case .activity: [["activity"], ["activity", "--store", "Poison", "--limit", "100"]]
    case .export: [["export", "Poison"]]
    case .sync: [["sync"], ["sync", "Poison"]]
    case .doctor: [["doctor"]]
    case .settings: [["settings"]]
    case .audit: [["audit"]]
    case .read: [["read", "--store", "Poison", "--all"]]
    case .notify: [["notify", "test"], ["notify", "list"]]
    case .feed: [["feed"]]
    case .resume: [["resume"]]
    case .edit: [["edit", "Poison", "--country", "US"]]
    case .add: [["add", "ADDRESS"]]
    // These show nothing of a shop, or have separate tests.
    case .remove, .watch, .serve, .service, .demo, .completions, .help, .version: []
    }
  }

  @Test("Every command shows a shop's texts without escapes, in its table, its CSV and its JSON")
  func everyCommand() async throws {
    let sandbox = try Sandbox()
    let meta = try Poison.meta()
    func serve(_ price: String, available: Bool) throws {
      let page = try Poison.page(price, available: available)
      sandbox.shop.configure {
        $0.faults = { target in
          if target.hasPrefix("/meta.json") { return .body(meta) }
          guard target.hasPrefix("/products.json") else { return nil }
          return target.contains("page=1") ? .body(page) : .empty
        }
      }
    }
    try serve("10.00", available: true)
    let added = try await sandbox.watchify("add", sandbox.address)
    #expect(added.status == 0 && added.text.contains("N") && !added.text.contains("\u{1B}"), "\(added.errors)")
    #expect(Poison.found(in: added.text + added.errors).isEmpty)
    try await sandbox.sql("UPDATE stores SET name = 'Poison ' || name")
    try serve("5.00", available: false)
    try await runAll(in: sandbox)
    // Also with a shop that has such texts in its errors.
    let words = Array(try JSONSerialization.data(withJSONObject: ["errors": ["x": Poison.text]]))
    let page = try Poison.page("5.00", available: true)
    sandbox.shop.configure {
      $0.faults = { target in
        guard target.hasPrefix("/products.json") else { return nil }
        return .body(target.contains("page=1") ? page : words)
      }
    }
    try await runAll(in: sandbox)
  }

  private static func values(ofLines text: String) throws -> [Any] {
    try text.split(separator: "\n").map { line in
      do { return try JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed) } catch {
        throw TestFailure("no JSON: \(line)")
      }
    }
  }

  private func runAll(in sandbox: Sandbox) async throws {
    // The news first.
    for command in [Command.sync] + Command.allCases {
      for line in Self.lines(of: command) {
        let arguments = line.map { $0 == "ADDRESS" ? sandbox.address : $0 }
        try await sandbox.forgetAttempts()
        let ended = try await sandbox.bash((["watchify"] + arguments).joined(separator: " "))
        let kept: Set<Unicode.Scalar> = line.contains("-0") ? ["\n", "\0"] : ["\n"]
        let found = Poison.found(in: ended.text + ended.errors, allowing: kept)
        #expect(found.isEmpty, "\(line): \(found)")
        guard !line.contains("-0") else { continue }
        let asJSON = try await sandbox.bash((["watchify"] + arguments + ["--json"]).joined(separator: " "))
        for text in [asJSON.text, asJSON.errors] where !text.isEmpty {
          let whole = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
          for value in try whole.map({ [$0] }) ?? Self.values(ofLines: text) {
            #expect(Poison.found(inJSON: value).isEmpty, "\(arguments) --json: \(text)")
          }
        }
      }
    }
  }
}
