package import Foundation

/// Where an item is on the bus. It names the item as long as the item exists, over restarts of the keyring, too.
package struct KeyringItemPath: Hashable, Sendable, CustomStringConvertible {
  /// A D-Bus object path.
  package let description: String

  /// Anything but `/` and parts of letters, digits and underscores is no path.
  package init?(_ description: String) {
    let parts = description.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    guard description.utf8.first == UInt8(ascii: "/"), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isPathByte) })
    else { return nil }
    self.description = description
  }

  /// Of an item its collection.
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

/// A name and a text by which items are found. Anybody in the session can read them: no place for a secret.
package struct KeyringAttribute: Hashable, Sendable {
  package let name: String
  package let text: String

  package init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }

  /// Byte by byte, as the keyring compares.
  package static func == (left: Self, right: Self) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.text.utf8.elementsEqual(right.text.utf8)
  }
}

/// An item of the keyring without its secret.
package struct KeyringItem: Hashable, Sendable {
  package let path: KeyringItemPath
  /// What people see in their keyring's window.
  package let label: String
  /// Sorted by name, byte by byte.
  package let attributes: [KeyringAttribute]
  package let created: Date
  /// In whole seconds.
  package let modified: Date

  /// The text of an attribute.
  package func text(of name: String) -> String? {
    attributes.first { $0.name.utf8.elementsEqual(name.utf8) }?.text
  }
}

/// A keyring among several of one user.
struct KeyringCollection: Hashable, Sendable {
  let path: KeyringItemPath
  /// What people call it.
  let label: String
  let isLocked: Bool
}

/// The bytes that an item keeps.
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
