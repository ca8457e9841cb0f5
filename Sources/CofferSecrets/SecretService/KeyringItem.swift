package import Foundation

/// The D-Bus object path of an item. It is valid as long as the item exists, across restarts of the keyring.
package struct KeyringItemPath: Hashable, Sendable, CustomStringConvertible {
  /// The text of the path.
  package let description: String

  /// Creates a path, or returns `nil` unless the text consists of parts of letters, digits and underscores, each after
  /// a `/`.
  package init?(_ description: String) {
    let parts = description.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    guard description.utf8.first == UInt8(ascii: "/"), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isPathByte) })
    else { return nil }
    self.description = description
  }

  /// The path of the collection, if this is the path of an item.
  var parent: KeyringItemPath? {
    description.lastIndex(of: "/").flatMap { KeyringItemPath(String(description[..<$0])) }
  }
}

extension UInt8 {
  fileprivate var isPathByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
    default: false
    }
  }
}

/// A name and a text that items can be searched by. Every program of the session can read them, so they must not
/// contain secrets.
package struct KeyringAttribute: Hashable, Sendable {
  package let name: String
  package let text: String

  package init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }

  /// Compares byte by byte, as the keyring does.
  package static func == (left: Self, right: Self) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.text.utf8.elementsEqual(right.text.utf8)
  }
}

/// An item of the keyring without its secret.
package struct KeyringItem: Hashable, Sendable {
  package let path: KeyringItemPath
  /// The name that keyring programs display.
  package let label: String
  /// Sorted by name, byte by byte.
  package let attributes: [KeyringAttribute]
  package let created: Date
  /// The date of the last change, in whole seconds.
  package let modified: Date

  /// Returns the text of an attribute, or `nil` if the item does not have it.
  package func text(of name: String) -> String? {
    attributes.first { $0.name.utf8.elementsEqual(name.utf8) }?.text
  }
}

/// A collection of items: one of the keyrings of a user.
struct KeyringCollection: Hashable, Sendable {
  let path: KeyringItemPath
  /// The name that keyring programs display.
  let label: String
  let isLocked: Bool
}

/// The secret of an item.
package struct KeyringSecret: Hashable, Sendable {
  package let path: KeyringItemPath
  package let data: Data
}

extension KeyringSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  // Never the bytes: a secret must not get into a log by accident.
  package var description: String { "\(path): \(data.count) bytes" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: [(label: "path", value: path as Any)]) }
}

extension Array where Element: Hashable {
  /// The distinct elements in the order of their first appearance.
  var uniqued: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
