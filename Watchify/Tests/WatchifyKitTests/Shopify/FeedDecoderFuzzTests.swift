import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Decoding anything")
struct FeedDecoderFuzzTests {
  private static let sample =
    #"{"products":[{"id":1,"title":"M \u0026 \ud83d\ude00","handle":"h","created_at":"2026-01-01T00:00:00-05:00","#
    + #""tags":["a",1.5e3,-0,true,false,null],"variants":[{"id":2,"price":"1.50","compare_at_price":"2.00","#
    + #""available":true,"position":1,"sku":"s"},{"id":3,"price":"7","available":false}],"#
    + #""images":[{"src":"https:\/\/a\/b?v=1","width":1}],"options":[{"name":"Größe"}]}]}"#

  private func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    let words: [[UInt8]] = ["\"", "\\", "\\u", "{", "}", "[", "]", ",", ":", "null", "\"id\":", "9", "-", "\u{0}"]
      .map { Array($0.utf8) }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      guard !bytes.isEmpty else { break }
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: index)
      case 2: bytes.insert(contentsOf: words.randomElement(using: &random) ?? [], at: index)
      case 3: bytes.removeSubrange(index..<min(bytes.count, index + 20))
      case 4: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 30)], at: index)
      default: bytes.removeSubrange(index...)
      }
    }
    return bytes
  }

  @Test("Mutated pages decode to valid products or a fault", arguments: 1...8 as ClosedRange<UInt64>)
  func mutations(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let sample = Array(Self.sample.utf8)
    for _ in 0..<3_000 {
      let bytes = mutated(sample, &random)
      guard let page = try? bytes.withUnsafeBytes({ try FeedDecoder.decode($0) }) else { continue }
      #expect(page.entries == page.products.count + page.brokenProducts)
      for product in page.products {
        #expect(product.id > 0)
        #expect(product.variants.allSatisfy { $0.id > 0 && $0.price >= .zero })
        #expect(Set(product.variants.map(\.id)).count == product.variants.count)
      }
    }
  }

  @Test(
    "Malformed JSON is rejected if and only if Foundation rejects it",
    arguments: 1...4 as ClosedRange<UInt64>)
  func grammar(seed: UInt64) {
    var random = SeededGenerator(seed: 100 + seed)
    let sample = Array(Self.sample.utf8)
    for _ in 0..<2_000 {
      let bytes = mutated(sample, &random)
      // Foundation rejects lone surrogates and invalid UTF-8, which are replaced here, and accepts a comma before a
      // closing bracket.
      guard let text = String(validating: bytes, as: UTF8.self), !text.lowercased().contains("\\ud"),
        !text.contains(/,\s*[}\]]/)
      else { continue }
      let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes))) is NSDictionary
      let isAccepted: Bool
      do throws(FeedFault) {
        _ = try FeedDecoder.decode(Data(bytes))
        isAccepted = true
      } catch {
        isAccepted = error == .noProducts
      }
      #expect(isJSON == isAccepted, "\(text)")
    }
  }

  @Test("Random bytes never crash the process", arguments: 1...4 as ClosedRange<UInt64>)
  func noise(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let alphabet = Array(#"{}[]":,\u0129aetrufls-.E "#.utf8)
      let noise = (0..<Int.random(in: 0...60, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      let bytes = Array("{\"products\":[".utf8) + noise
      let page = try? bytes.withUnsafeBytes { try FeedDecoder.decode($0) }
      #expect(page.map { $0.entries >= $0.products.count } ?? true)
    }
  }
}

@Suite("Decoding responses of real shops", .enabled(if: CapturedShops.folder != nil))
struct CapturedFeedTests {
  private struct Feed: Decodable {
    struct Product: Decodable {
      struct Variant: Decodable {
        let id: Int64
        let title: String
        let sku: String?
        let price: String
        let compareAtPrice: String?
        let available: Bool
        let position: Int
      }
      struct Image: Decodable { let src: String }
      let id: Int64
      let title: String
      let handle: String
      let vendor: String?
      let productType: String?
      let createdAt: Date?
      let publishedAt: Date?
      let images: [Image]
      let variants: [Variant]
    }
    let products: [Product]
  }

  @Test("The decoder reads what Foundation reads", arguments: CapturedShops.pages)
  func same(_ file: URL) throws {
    let data = try Data(contentsOf: file)
    let foundation = JSONDecoder()
    foundation.dateDecodingStrategy = .iso8601
    foundation.keyDecodingStrategy = .convertFromSnakeCase
    let expected = try foundation.decode(Feed.self, from: data).products.map { product in
      ShopifyProduct(
        id: product.id, title: product.title, handle: product.handle, vendor: product.vendor,
        productType: product.productType, createdAt: product.createdAt, publishedAt: product.publishedAt,
        images: product.images.map { ShopifyImage(src: $0.src) },
        variants: try product.variants.map {
          ShopifyVariant(
            id: $0.id, title: $0.title, sku: $0.sku, price: try #require(Price($0.price)),
            compareAtPrice: $0.compareAtPrice.flatMap { Price($0) }.flatMap { $0 == .zero ? nil : $0 },
            available: $0.available, position: $0.position)
        })
    }
    let page = try FeedDecoder.decode(data)
    #expect(page.products == expected)
    #expect(page.brokenProducts == 0 && page.brokenVariants == 0)
  }
}
