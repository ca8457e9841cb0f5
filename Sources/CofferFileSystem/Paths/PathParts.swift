package import CofferCore
import Foundation

/// The components of a path, split by bytes: a slash followed by a combining mark is a single `Character` in Swift, but
/// a slash for the system.
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

  /// The path of the directory that contains the last name; `/` or `.` if there is no other.
  package var parent: String {
    let rest = names.dropLast()
    if isAbsolute { return "/" + rest.joined(separator: "/") }
    return rest.isEmpty ? "." : rest.joined(separator: "/")
  }

  /// Returns whether a name is a safe path component: up to 128 letters, digits, `.`, `_` and `-`, the first not a dot.
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

  /// Returns the canonical path of a file, or of a missing one in a directory that exists; `nil` if neither exists.
  package static func canonical(_ path: String) -> String? {
    if let real = realpath(path, nil) {
      defer { free(real) }
      return String(cString: real)
    }
    let parts = PathParts(path)
    guard let parent = realpath(parts.parent, nil) else { return nil }
    defer { free(parent) }
    let prefix = String(cString: parent)
    return (prefix == "/" ? "" : prefix) + "/" + parts.last
  }

  /// Returns the path, or its canonical target if its last name is a symbolic link, so that one file has one name.
  /// - Throws: `notAStore` for a dangling link.
  package static func resolvingLink(_ path: String) throws(StorageError) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    guard let real = realpath(path, nil) else { throw danglingLink(path, errno) }
    defer { free(real) }
    return String(cString: real)
  }
}
