import Foundation
import WatchifyHTTP

/// An address that a page may refer to: a page of this site, or a web page elsewhere.
struct Link: Hashable, Sendable {
  let text: String

  /// The folder in which the site is, which begins and ends with "/": see ``PublicAddress``.
  @TaskLocal static var folder = "/"

  private init(text: String) { self.text = text }

  /// Creates a link within the site from the components of its path, which are encoded, and its query.
  init(_ path: [String], _ query: [(name: String, value: String)] = [], at anchor: String? = nil) {
    var text = Self.folder + path.map { FormCoding.encoded(component: $0) }.joined(separator: "/")
    if !query.isEmpty { text += "?" + FormCoding.encoded(query) }
    if let anchor { text += "#" + FormCoding.encoded(component: anchor) }
    self.text = text
  }

  /// Returns a link to an element of the same page.
  static func anchor(_ id: String) -> Link { Link(text: "#" + FormCoding.encoded(component: id)) }

  /// Creates a link to another site; `nil` unless it is an address with `https` or `http`, a host and neither user nor
  /// password. A shop may state any address, such as `javascript:`.
  init?(outside text: String) {
    guard text.utf8.count <= 2_048, text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }),
      !text.contains("\\"), let parts = URLComponents(string: text),
      ["http", "https"].contains(parts.scheme?.lowercased() ?? ""), let host = parts.host, !host.isEmpty,
      parts.user == nil, parts.password == nil, let url = parts.url
    else { return nil }
    self.text = url.absoluteString
  }
}
