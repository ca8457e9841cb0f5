/// A writer of JSON in the form that storefronts send: without whitespace, with `\/`, `\u003c`, `\u003e` and `\u0026`.
struct WireWriter {
  var bytes: [UInt8] = []

  mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func raw(_ number: Int) { raw(String(number)) }

  mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { source in
      var start = 0
      var index = 0
      while index < source.count {
        let byte = source[index]
        // A fast path for letters and digits, which are nearly all bytes.
        if byte < 0x40 || byte == 0x5C, let escape = Self.escape(byte) {
          bytes.append(contentsOf: source[start..<index])
          raw(escape)
          start = index + 1
        }
        index += 1
      }
      bytes.append(contentsOf: source[start...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func string(_ text: String?) {
    if let text { string(text) } else { raw("null") }
  }

  /// Writes a JSON array.
  mutating func list<C: Collection>(_ elements: C, _ write: (inout WireWriter, C.Element, Int) -> Void) {
    bytes.append(UInt8(ascii: "["))
    for (position, element) in elements.enumerated() {
      if position > 0 { bytes.append(UInt8(ascii: ",")) }
      write(&self, element, position)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private static func escape(_ byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: "\""): "\\\""
    case UInt8(ascii: "\\"): "\\\\"
    case UInt8(ascii: "/"): "\\/"
    case UInt8(ascii: "<"): "\\u003c"
    case UInt8(ascii: ">"): "\\u003e"
    case UInt8(ascii: "&"): "\\u0026"
    case UInt8(ascii: "\n"): "\\n"
    case 0x00..<0x10: "\\u000" + String(byte, radix: 16)
    case 0x10..<0x20: "\\u00" + String(byte, radix: 16)
    default: nil
    }
  }
}

/// Returns a price in the text form of the feed, such as `"89.00"`.
func priceText(_ hundredths: Int) -> String {
  let cents = abs(hundredths % 100)
  return "\(hundredths < 0 ? "-" : "")\(abs(hundredths / 100)).\(cents < 10 ? "0" : "")\(cents)"
}

extension WireWriter {
  /// Writes a product with all fields of a real feed, in the same order.
  mutating func product(_ product: DemoProduct, imageBase: String) {
    raw("{\"id\":\(product.id),\"title\":")
    string(product.title)
    raw(",\"handle\":")
    string(product.handle)
    raw(",\"body_html\":")
    string(product.bodyHTML)
    raw(",\"published_at\":\"\(product.publishedAt)\",\"created_at\":\"\(product.createdAt)\",")
    raw("\"updated_at\":\"\(product.updatedAt)\",\"vendor\":")
    string(product.vendor)
    raw(",\"product_type\":")
    string(product.productType)
    raw(",\"tags\":")
    list(product.tags) { writer, tag, _ in writer.string(tag) }
    raw(",\"variants\":")
    list(product.variants) { $0.variant($1, at: $2 + 1, of: product, imageBase: imageBase) }
    raw(",\"images\":")
    list(product.images) { writer, image, position in
      writer.image(image, at: position + 1, of: product, imageBase: imageBase, isFeatured: false)
    }
    raw(",\"options\":")
    list(product.optionNames) { writer, name, position in
      writer.raw("{\"name\":")
      writer.string(name)
      writer.raw(",\"position\":\(position + 1),\"values\":")
      writer.list(product.values(ofOption: position)) { writer, value, _ in writer.string(value) }
      writer.raw("}")
    }
    raw("}")
  }

  private mutating func variant(
    _ variant: DemoVariant, at position: Int, of product: DemoProduct, imageBase: String
  ) {
    raw("{\"id\":")
    raw(variant.id)
    raw(",\"title\":")
    string(variant.title)
    for (index, name) in [",\"option1\":", ",\"option2\":", ",\"option3\":"].enumerated() {
      raw(name)
      string(index < variant.options.count ? variant.options[index] : nil)
    }
    raw(",\"sku\":")
    string(variant.sku)
    raw(",\"requires_shipping\":true,\"taxable\":true,\"featured_image\":")
    if let index = product.images.firstIndex(where: { $0.variantIDs.contains(variant.id) }) {
      image(product.images[index], at: index + 1, of: product, imageBase: imageBase, isFeatured: true)
    } else {
      raw("null")
    }
    raw(variant.isAvailable ? ",\"available\":true,\"price\":\"" : ",\"available\":false,\"price\":\"")
    raw(priceText(variant.price))
    raw("\",\"grams\":")
    raw(variant.grams)
    raw(",\"compare_at_price\":")
    string(variant.compareAt.map(priceText))
    raw(",\"position\":")
    raw(position)
    raw(",\"product_id\":")
    raw(product.id)
    raw(",\"created_at\":\"")
    raw(variant.createdAt)
    raw("\",\"updated_at\":\"")
    raw(variant.updatedAt)
    raw("\"}")
  }

  private mutating func image(
    _ image: DemoImage, at position: Int, of product: DemoProduct, imageBase: String, isFeatured: Bool
  ) {
    raw("{\"id\":\(image.id),")
    if isFeatured { raw("\"product_id\":\(product.id),\"position\":\(position),") }
    raw("\"created_at\":\"\(image.createdAt)\",")
    if !isFeatured { raw("\"position\":\(position),") }
    raw("\"updated_at\":\"\(image.createdAt)\",")
    if isFeatured {
      raw("\"alt\":null,\"width\":\(image.width),\"height\":\(image.height),")
    } else {
      raw("\"product_id\":\(product.id),\"variant_ids\":")
      list(image.variantIDs) { writer, id, _ in writer.raw(id) }
      raw(",")
    }
    raw("\"src\":")
    string((image.source.contains("://") ? "" : imageBase) + image.source + "?v=\(image.version)")
    if isFeatured {
      raw(",\"variant_ids\":")
      list(image.variantIDs) { writer, id, _ in writer.raw(id) }
    } else {
      raw(",\"width\":\(image.width),\"height\":\(image.height)")
    }
    raw("}")
  }
}
