package import CofferCore
import Foundation

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

  /// Whether a name is one harmless part of a path: up to 128 letters, digits, `.`, `_` and `-`, the first not a dot.
  package static func isPlain(_ name: String) -> Bool {
    let bytes = name.utf8
    return !bytes.isEmpty && bytes.count <= 128 && bytes.first != UInt8(ascii: ".")
      && bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// The path itself, or where it leads if its last name is a symbolic link: one file has one name then.
  /// - Throws: `notAStore` for a link that leads nowhere.
  package static func resolvingLink(_ path: String) throws(StorageError) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    guard let real = realpath(path, nil) else { throw danglingLink(path, errno) }
    defer { free(real) }
    return String(cString: real)
  }
}
