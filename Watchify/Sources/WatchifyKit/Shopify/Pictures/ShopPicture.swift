public import Foundation

/// A picture of a product as its shop has served it, with the type that its first bytes show.
public struct ShopPicture: Sendable, Hashable {
  /// The types of pictures that are shown. SVG is none: it can contain scripts.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// JPEG.
    case jpeg = "image/jpeg"
    /// PNG.
    case png = "image/png"
    /// GIF, also an animated one.
    case gif = "image/gif"
    /// WebP.
    case webp = "image/webp"
    /// AVIF, also an animated one.
    case avif = "image/avif"
  }

  /// The type.
  public let kind: Kind
  /// The bytes.
  public let data: Data

  /// Creates a picture; `nil` if the bytes begin like none of the types, whatever a server calls them.
  public init?(_ data: Data) {
    guard let kind = Self.kind(of: data) else { return nil }
    (self.kind, self.data) = (kind, data)
  }

  private static func kind(of data: Data) -> Kind? {
    let head = Array(data.prefix(16))
    func has(_ bytes: [UInt8], at offset: Int = 0) -> Bool {
      head.count >= offset + bytes.count && head[offset..<(offset + bytes.count)].elementsEqual(bytes)
    }
    if has([0xFF, 0xD8, 0xFF]) { return .jpeg }
    if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
    if has(Array("GIF87a".utf8)) || has(Array("GIF89a".utf8)) { return .gif }
    if has(Array("RIFF".utf8)), has(Array("WEBP".utf8), at: 8) { return .webp }
    if has(Array("ftypavif".utf8), at: 4) || has(Array("ftypavis".utf8), at: 4) { return .avif }
    return nil
  }
}
