import Foundation
import WatchifyHTTP

/// The files that pages refer to, embedded in the program.
enum Assets {
  /// A file whose address contains a hash of its content, so that browsers keep it until it changes.
  struct Asset: Sendable {
    let name: String
    let type: String
    let bytes: [UInt8]
    let tag: String

    init(_ stem: String, _ ending: String, _ type: String, _ bytes: [UInt8]) {
      tag = Assets.hash(bytes)
      name = "\(stem).\(tag).\(ending)"
      self.type = type
      self.bytes = bytes
    }

    var link: Link { Link(["assets", name]) }
  }

  static let style = Asset("watchify", "css", "text/css; charset=utf-8", PackageResources.watchify_css)
  static let script = Asset("watchify", "js", "text/javascript; charset=utf-8", PackageResources.watchify_js)
  static let icon = Asset("watchify", "svg", "image/svg+xml", Array(mark.utf8))
  static let all = [style, script, icon]

  /// An eye that is also a falling price.
  private static let mark = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b50"/>\
    <path d="M6 10h8v8h6v5h6" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" \
    stroke-linejoin="round"/><circle cx="24.5" cy="10" r="2.5" fill="#fff"/></svg>
    """

  /// Returns the response to a request for a file; `nil` if the path is none of a file.
  static func response(to request: HTTPRequest) -> HTTPResponse? {
    guard request.path.first == "assets" || request.path == ["favicon.ico"], ["GET", "HEAD"].contains(request.method)
    else { return nil }
    let found = request.path == ["favicon.ico"] ? icon : all.first { request.path == ["assets", $0.name] }
    guard let asset = found else { return nil }
    let headers = [
      ("Content-Type", asset.type), ("ETag", "\"\(asset.tag)\""), ("X-Content-Type-Options", "nosniff"),
      ("Cache-Control", request.path.first == "assets" ? "public, max-age=31536000, immutable" : "max-age=3600"),
    ]
    let shown = headers.map { (name: $0.0, value: $0.1) }
    if matches(request.header("If-None-Match"), asset.tag) { return HTTPResponse(304, headers: shown) }
    return HTTPResponse(200, headers: shown, body: .bytes(request.method == "HEAD" ? [] : asset.bytes))
  }

  /// Whether a list of entity tags contains one (RFC 9110, 13.1.2).
  private static func matches(_ list: String?, _ tag: String) -> Bool {
    guard let list else { return false }
    return list.split(separator: ",").contains { item in
      let item = item.trimmingCharacters(in: .whitespaces)
      return item == "*" || item == "\"\(tag)\"" || item == "W/\"\(tag)\""
    }
  }

  /// Returns a hash of bytes as 16 hexadecimal digits (FNV-1a), which distinguishes versions of a file.
  private static func hash(_ bytes: [UInt8]) -> String {
    let hash = bytes.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
