import WatchifyCZlib

/// A picture of a product, drawn by the shop: a landscape in the product's colour, as PNG.
struct ShopDrawing {
  /// The width and height in pixels.
  static let size = 160

  let red: UInt8
  let green: UInt8
  let blue: UInt8

  /// Creates a drawing in a colour of six hexadecimal digits; grey if the text is none.
  init(color: some StringProtocol) {
    let number = color.utf8.count == 6 ? UInt32(color, radix: 16) ?? 0x8A857B : 0x8A857B
    (red, green, blue) = (
      UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)
    )
  }

  /// The file (PNG, W3C recommendation, 5.3 and 11).
  var png: [UInt8] {
    let size = UInt32(Self.size)
    let header = Self.bytes(size) + Self.bytes(size) + [8, 2, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
      + Self.chunk("IDAT", Self.compressed(rows)) + Self.chunk("IEND", [])
  }

  /// The rows of pixels, each after the number of its filter: none.
  private var rows: [UInt8] {
    var rows: [UInt8] = []
    rows.reserveCapacity(Self.size * (Self.size * 3 + 1))
    for y in 0..<Self.size {
      rows.append(0)
      for x in 0..<Self.size {
        let light = Self.light(x: x, y: y)
        for part in [red, green, blue] { rows.append(UInt8(Int(part) + (255 - Int(part)) * light / 100)) }
      }
    }
    return rows
  }

  /// The heights of the mountains, as points from the left to the right edge.
  private static let ridge = [(0, 128), (48, 70), (77, 104), (107, 54), (160, 122)]

  /// The share of white in a pixel, in percent.
  private static func light(x: Int, y: Int) -> Int {
    let (dx, dy) = (x - 117, y - 34)
    if dx * dx + dy * dy <= 13 * 13 { return 60 }
    for (left, right) in zip(ridge, ridge.dropFirst()) where x >= left.0 && x < right.0 {
      let height = left.1 + (right.1 - left.1) * (x - left.0) / (right.0 - left.0)
      return y >= height ? 35 : 0
    }
    return 0
  }

  private static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + content
    let sum = UInt32(truncatingIfNeeded: crc32(0, named, UInt32(named.count)))
    return bytes(UInt32(content.count)) + named + bytes(sum)
  }

  private static func compressed(_ input: [UInt8]) -> [UInt8] {
    var size = compressBound(UInt(input.count))
    var output = [UInt8](repeating: 0, count: Int(size))
    guard compress2(&output, &size, input, UInt(input.count), 6) == Z_OK else { return [] }
    return Array(output.prefix(Int(size)))
  }
}
