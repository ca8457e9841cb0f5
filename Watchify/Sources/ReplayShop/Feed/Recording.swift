import Foundation

/// A parser that splits a captured `products.json` into the texts of its products.
enum Recording {
  static func items(in data: Data, asRecorded: Bool) throws(ReplayError) -> [ShopFeed.Item] {
    let ids: [Int]
    do {
      ids = try JSONDecoder().decode(Numbers.self, from: data).products.map(\.id)
    } catch {
      throw .notAFeed(reason: "it must be a JSON object whose 'products' are objects with whole numbers as 'id'.")
    }
    let bytes = [UInt8](data)
    let slices = slices(of: bytes)
    guard slices.count == ids.count else { throw .notAFeed(reason: "it has 'products' more than once.") }
    return zip(ids, slices).map { id, slice in
      ShopFeed.Item(id: id, content: .wire(asRecorded ? Array(bytes[slice]) : wireForm(bytes[slice])))
    }
  }

  private struct Numbers: Decodable {
    struct Product: Decodable { let id: Int }
    let products: [Product]
  }

  /// Returns the ranges of the objects in the list `products` of the outermost object of well-formed JSON.
  private static func slices(of bytes: [UInt8]) -> [Range<Int>] {
    var slices: [Range<Int>] = []
    var depth = 0
    var start = 0
    var isNext = false
    var isInside = false
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        let end = endOfString(in: bytes[...], from: index)
        if depth == 1 { isNext = isNext ? false : bytes[index..<end].elementsEqual("\"products\"".utf8) }
        index = end
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth == 2 {
          isInside = isNext && bytes[index] == UInt8(ascii: "[")
          isNext = false
        }
        if depth == 3, isInside { start = index }
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if depth == 3, isInside { slices.append(start..<index + 1) }
        if depth == 2 { isInside = false }
        depth -= 1
      case UInt8(ascii: ",") where depth == 1: isNext = false
      default: break
      }
      index += 1
    }
    return slices
  }

  /// Returns the index after a string's closing quote.
  private static func endOfString(in bytes: ArraySlice<UInt8>, from start: Int) -> Int {
    var index = start + 1
    while index < bytes.endIndex, bytes[index] != UInt8(ascii: "\"") {
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(index + 1, bytes.endIndex)
  }

  /// Returns the same JSON without whitespace and with a storefront's escapes.
  private static func wireForm(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var writer = WireWriter()
    writer.bytes.reserveCapacity(bytes.count)
    var isInString = false
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        isInString.toggle()
        writer.bytes.append(byte)
      case UInt8(ascii: "\\") where index + 1 < bytes.endIndex:
        writer.bytes += [byte, bytes[index + 1]]
        index += 1
      case UInt8(ascii: "/"): writer.raw("\\/")
      case UInt8(ascii: "<"): writer.raw("\\u003c")
      case UInt8(ascii: ">"): writer.raw("\\u003e")
      case UInt8(ascii: "&"): writer.raw("\\u0026")
      case 0x09, 0x0A, 0x0D, 0x20: if isInString { writer.bytes.append(byte) }
      default: writer.bytes.append(byte)
      }
      index += 1
    }
    return writer.bytes
  }

  /// Returns a recorded product as a model, which only has the fields that a monitor reads.
  static func product(of bytes: [UInt8]) throws(ReplayError) -> DemoProduct {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
      return try decoder.decode(RecordedProduct.self, from: Data(bytes)).model
    } catch {
      throw .notAFeed(reason: "a product lacks a field that every product has.")
    }
  }
}

private struct RecordedProduct: Decodable {
  struct Variant: Decodable {
    let id: Int
    let title: String
    let option1, option2, option3, sku, compareAtPrice: String?
    let price: String
    let available: Bool
    let grams: Int?
    let createdAt, updatedAt: String?
  }

  struct Image: Decodable {
    let id: Int
    let src: String
    let width, height: Int?
    let variantIds: [Int]?
    let createdAt: String?
  }

  struct Option: Decodable { let name: String }

  let id: Int
  let title, handle: String
  let bodyHtml, vendor, productType, publishedAt, createdAt, updatedAt: String?
  let tags: [String]?
  let variants: [Variant]
  let images: [Image]?
  let options: [Option]?

  var model: DemoProduct {
    DemoProduct(
      id: id, title: title, handle: handle, bodyHTML: bodyHtml ?? "", vendor: vendor ?? "",
      productType: productType ?? "", tags: tags ?? [], optionNames: options?.map(\.name) ?? ["Title"],
      publishedAt: publishedAt ?? DemoProduct.someday, createdAt: createdAt ?? DemoProduct.someday,
      updatedAt: updatedAt ?? DemoProduct.someday, variants: variants.map(\.model), images: images?.map(\.model) ?? [])
  }
}

extension RecordedProduct.Variant {
  var model: DemoVariant {
    let options = [option1, option2, option3].compactMap { $0 }
    return DemoVariant(
      id: id, options: options.isEmpty ? [title] : options, sku: sku, price: hundredths(of: price.utf8) ?? 0,
      compareAt: compareAtPrice.flatMap { hundredths(of: $0.utf8) }, isAvailable: available, grams: grams ?? 0,
      createdAt: createdAt ?? DemoProduct.someday, updatedAt: updatedAt ?? DemoProduct.someday)
  }
}

extension RecordedProduct.Image {
  var model: DemoImage {
    let parts = src.components(separatedBy: "?v=")
    return DemoImage(
      id: id, source: parts[0], version: parts.count > 1 ? Int(parts[1]) ?? 0 : 0, width: width ?? 0,
      height: height ?? 0, variantIDs: variantIds ?? [], createdAt: createdAt ?? DemoProduct.someday)
  }
}
