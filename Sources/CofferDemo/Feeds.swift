import Coffer
import Foundation

/// A captured shop response: `{"products": [...]}`, bare or wrapped as `{"url": ..., "body": {"products": [...]}}`.
private struct Feed: Decodable {
  let products: [Product]

  enum CodingKeys: String, CodingKey { case products, body }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.products) {
      products = try container.decode([Product].self, forKey: .products)
    } else {
      products = try container.decode(Feed.self, forKey: .body).products
    }
  }
}

extension Catalogue {
  /// Returns the products of captured feeds, all JSON files under a folder, with the keys `product/FILE/ID`.
  static func captured(in folder: String) throws -> Catalogue {
    let root = URL(fileURLWithPath: folder)
    let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
    let files = (paths ?? []).filter { $0.hasSuffix(".json") }.sorted()
    let decoder = JSONDecoder()
    var products: [KeyName: Product] = [:]
    var notes: [String] = []
    var shops: Set<Substring> = []
    for file in files {
      let data = try Data(contentsOf: root.appendingPathComponent(file))
      guard let feed = try? decoder.decode(Feed.self, from: data) else {
        notes.append("\(file) is not a product feed and was skipped.")
        continue
      }
      shops.insert(file.prefix { $0 != "." }.split(separator: "/").dropLast().last ?? "shop")
      for product in feed.products {
        products[try KeyName("product/\(file.dropLast(5))/\(product.id)")] = product
      }
    }
    guard !products.isEmpty else {
      throw UsageError("There are no products in '\(folder)': it needs JSON files with a list \"products\".")
    }
    let items = products.map { Item(key: $0, product: $1) }.sorted { $0.key < $1.key }
    let source = "captured from \(shops.count) web shops: \(files.count - notes.count) files in \(folder)"
    return Catalogue(items: items, source: source, notes: notes)
  }
}
