import Foundation
import Testing

@testable import WatchifyKit

@Suite("Decoding a page of products")
struct FeedDecoderTests {
  private func decode(_ text: String) throws -> FeedPage { try FeedDecoder.decode(Data(text.utf8)) }

  private func fault(_ text: String) -> FeedFault? { fault(Data(text.utf8)) }

  private func fault(_ data: Data) -> FeedFault? {
    do throws(FeedFault) {
      _ = try FeedDecoder.decode(data)
      return nil
    } catch {
      return error
    }
  }

  /// Returns a page with one product that has the given members besides the required ones.
  private func product(_ members: String = "", variants: String) -> String {
    "{\"products\":[{\"id\":1,\"title\":\"T\",\"handle\":\"t\"\(members),\"variants\":[\(variants)]}]}"
  }

  private let variant = #"{"id":7,"title":"S","price":"1.00","available":true,"position":1}"#

  @Test("Every part of a product is decoded")
  func wholeProduct() throws {
    let page = try decode(
      """
      {"products":[{"id":8014580744235,"title":"Mat \\u0026 Bag","handle":"mat-bag","body_html":"\\u003cp\\u003e[{\\"}",
      "published_at":"2026-07-21T14:54:12-05:00","created_at":"2026-07-21T19:49:27Z","updated_at":null,"vendor":"V",
      "product_type":"","tags":["a",["b"],{"c":1.5e-3}],"variants":[{"id":9223372036854775807,"title":"M \\/ Red",
      "sku":null,"available":false,"price":"1099000.00","grams":0,"compare_at_price":"0.00","position":2,
      "featured_image":{"src":"no"}}],"images":[{"id":1,"src":"https:\\/\\/cdn\\/a.jpg?v=1"},{"id":2},
      {"src":"b.jpg"}],"options":[]}],"more":true}
      """)
    let product = try #require(page.products.first)
    #expect(page.entries == 1 && page.brokenProducts == 0 && page.brokenVariants == 0)
    #expect(product.id == 8_014_580_744_235)
    #expect(product.title == "Mat & Bag" && product.handle == "mat-bag")
    #expect(product.vendor == "V" && product.productType?.isEmpty == true)
    #expect(product.createdAt == Date(timeIntervalSince1970: 1_784_663_367))
    #expect(product.publishedAt == Date(timeIntervalSince1970: 1_784_663_652))
    #expect(product.images.map(\.src) == ["https://cdn/a.jpg?v=1", "b.jpg"])
    let variant = try #require(product.variants.first)
    #expect(variant.id == .max && variant.title == "M / Red" && variant.sku == nil)
    #expect(variant.price == Price("1099000") && variant.compareAtPrice == nil)
    #expect(!variant.available && variant.position == 2)
  }

  @Test(
    "A variant with a broken part is omitted and counted, and its price is never zero",
    arguments: [
      #"{"title":"no id","price":"1","available":true}"#, #"{"id":"8","price":"1","available":true}"#,
      #"{"id":8.5,"price":"1","available":true}"#, #"{"id":-8,"price":"1","available":true}"#,
      #"{"id":9223372036854775808,"price":"1","available":true}"#, #"{"id":8,"price":null,"available":true}"#,
      #"{"id":8,"price":"","available":true}"#, #"{"id":8,"price":"free","available":true}"#,
      #"{"id":8,"price":"-1","available":true}"#, #"{"id":8,"price":"1e3","available":true}"#,
      #"{"id":8,"price":[1],"available":true}"#, #"{"id":8,"available":true}"#,
      #"{"id":8,"price":"99999999999999999999","available":true}"#, #"{"id":8,"price":"1"}"#,
      #"{"id":8,"price":"1","available":"yes"}"#, #"{"id":8,"price":"1","compare_at_price":"x","available":true}"#,
      #""text""#, "null", "[]",
    ])
  func brokenVariant(_ broken: String) throws {
    let page = try decode(product(variants: "\(broken),\(variant)"))
    #expect(page.brokenVariants == 1)
    #expect(page.products.first?.variants.map(\.id) == [7])
    // A product with only broken variants is broken itself.
    let alone = try decode(product(variants: broken))
    #expect(alone.products.isEmpty && alone.brokenProducts == 1 && alone.entries == 1)
  }

  @Test(
    "A broken product is omitted and counted",
    arguments: [
      #"{"id":null,"title":"T","handle":"t","variants":[]}"#, #"{"id":1,"handle":"t","variants":[]}"#,
      #"{"id":1,"title":"T","variants":[]}"#, #"{"id":1,"title":"T","handle":"t"}"#,
      #"{"id":1,"title":["T"],"handle":"t","variants":[]}"#, #"{"id":1,"title":"T","handle":"t","variants":{}}"#,
      "3", "[]",
    ])
  func brokenProduct(_ broken: String) throws {
    let page = try decode("{\"products\":[\(broken)]}")
    #expect(page.products.isEmpty && page.brokenProducts == 1 && page.entries == 1)
  }

  @Test("Odd but whole: numbers as prices, no list price, no variants, dates that are none")
  func odd() throws {
    let variants =
      #"{"id":1,"price":12.5,"compare_at_price":null,"available":true},"#
      + #"{"id":2,"price":"3","compare_at_price":"","available":true,"title":null,"position":"x"}"#
    let product = try #require(
      try decode(self.product(#","created_at":"soon","images":null,"vendor":3"#, variants: variants)).products.first)
    #expect(product.createdAt == nil && product.images.isEmpty && product.vendor == nil)
    #expect(product.variants.map(\.price) == [Price("12.5"), Price("3")])
    #expect(product.variants.allSatisfy { $0.compareAtPrice == nil && $0.title == "Default Title" })
    #expect(product.variants.map(\.position) == [1, 2])
    #expect(try decode(self.product(variants: "")).products.first?.variants.isEmpty == true)
  }

  @Test("Of two variants with one id the first is kept, also among hundreds")
  func duplicateVariants() throws {
    let ids = Array(1...100) + Array(50...150)
    let variants = ids.enumerated().map { #"{"id":\#($1),"title":"\#($0)","price":"1","available":true}"# }
    let product = try #require(try decode(product(variants: variants.joined(separator: ","))).products.first)
    #expect(product.variants.map(\.id) == Array(1...150))
    #expect(product.variants[60].title == "60")
  }

  @Test("Text: escapes, pairs, lone surrogates and bytes that are no UTF-8")
  func text() throws {
    func title(_ raw: String) throws -> String? {
      try decode(product(variants: variant).replacing(#""T""#, with: "\"\(raw)\"")).products.first?.title
    }
    #expect(try title(#"\b\f\n\r\t\"\\\/\u00e9\u20AC"#) == "    \"\\/é€")
    #expect(try title(#"\ud83d\ude00!"#) == "😀!")
    #expect(try title(#"\ud83d!"#) == "\u{FFFD}!")
    #expect(try title(#"\ude00\ud83d"#) == "\u{FFFD}\u{FFFD}")
    #expect(try title(#"\ud83d\u0041"#) == "\u{FFFD}A")
    #expect(try title("日本語のマット") == "日本語のマット")
    var bytes = Data(product(variants: variant).utf8)
    let range = try #require(bytes.firstRange(of: Data("\"T\"".utf8)))
    bytes.replaceSubrange(range, with: [0x22, 0xFF, 0x41, 0xC3, 0x22])
    #expect(try FeedDecoder.decode(bytes).products.first?.title == "\u{FFFD}A\u{FFFD}")
    #expect(try decode(#"{"product\u0073":[]}"#) == FeedPage())
  }

  @Test("Bodies that are no page are distinguished")
  func faults() {
    #expect(fault("") == .notJSON)
    #expect(fault("  ") == .notJSON)
    #expect(fault("<!doctype html><html>") == .notJSON)
    #expect(fault("[]") == .notJSON)
    #expect(fault("{}") == .noProducts)
    #expect(fault(#"{"products":{}}"#) == .noProducts)
    #expect(
      fault(#"{"errors":"Page * Limit exceeds the 25000 limit."}"#)
        == .errors("Page * Limit exceeds the 25000 limit."))
    #expect(fault(#"{"products":[],"errors":{"a":["b"]}}"#) == .errors(#"{"a":["b"]}"#))
    #expect(fault(#"{"products":[],"errors":null}"#) == nil)
    #expect(fault(#"{"products":[]} x"#) == .malformed(offset: 16))
    #expect(fault(#"{"products":[],}"#) == .malformed(offset: 15))
    #expect(fault("{\"a\":\"\u{1}\"}") == .malformed(offset: 6))
    for wrong in ["01", "1.", "+1", "-", ".5", "1e", "nul", "truE", #""\x""#, #""\u12g4""#, "'a'"] {
      #expect(fault("{\"a\":\(wrong) }") != nil, "\(wrong)")
    }
    let deep = String(repeating: "[", count: 100_000)
    #expect(fault("{\"a\":\(deep)") == .malformed(offset: 5 + JSONScanner.deepest))
  }

  @Test("Every prefix of a page is reported as truncated")
  func truncated() throws {
    let page = Data(product(#","created_at":"2026-01-01T00:00:00Z","x":[1.5,null,"\u00e9"]"#, variants: variant).utf8)
    #expect(try FeedDecoder.decode(page).products.count == 1)
    for end in 1..<page.count { #expect(fault(page.prefix(end)) == .truncated, "\(end)") }
  }

  @Test(
    "ISO 8601 dates, to the second",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59-00:00", -1), ("2000-02-29T12:00:00+05:30", 951_805_800),
      ("2026-01-05T10:00:00.987-05:00", 1_767_625_200), ("2024-12-31T23:59:60Z", 1_735_689_600),
      ("2026-02-29T00:00:00Z", nil), ("2026-13-01T00:00:00Z", nil), ("2026-01-01T24:00:00Z", nil),
      ("2026-01-01T00:00:00", nil), ("2026-01-01T00:00:00.", nil), ("2026-01-01T00:00:00.Z", nil),
      ("2026-01-01T00:00:00+5:30", nil), ("2026-01-01 00:00:00Z", nil), ("2026-01-01T00:00:00Zx", nil),
    ] as [(String, Double?)])
  func dates(_ text: String, _ seconds: Double?) {
    let date = Array(text.utf8).withUnsafeBytes { FeedDate.iso8601($0) }
    #expect(date == seconds.map { Date(timeIntervalSince1970: $0) })
  }

  @Test("Dates of HTTP")
  func httpDates() {
    #expect(FeedDate.http("Sun, 06 Nov 1994 08:49:37 GMT") == Date(timeIntervalSince1970: 784_111_777))
    for wrong in ["Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT", "soon", "", "a b c d e GMT"] {
      #expect(FeedDate.http(wrong) == nil)
    }
  }
}
