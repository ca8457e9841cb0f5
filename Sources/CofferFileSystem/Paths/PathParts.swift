/// A path in its parts, by bytes: a slash with a combining mark after it is one character for Swift, which is no slash,
/// and for the system it is one.
package struct PathParts: Sendable {
  /// The names between the slashes.
  package let names: [String]
  package let isAbsolute: Bool

  package init(_ path: String) {
    names = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    isAbsolute = path.utf8.first == UInt8(ascii: "/")
  }

  /// The last name; empty for `/`.
  package var last: String { names.last ?? "" }

  /// The path of the directory that the last name is in.
  package var parent: String {
    let rest = names.dropLast()
    if isAbsolute { return "/" + rest.joined(separator: "/") }
    return rest.isEmpty ? "." : rest.joined(separator: "/")
  }
}
