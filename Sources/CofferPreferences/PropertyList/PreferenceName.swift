package import CofferCore
import Foundation

/// How a key is called in a property list.
///
/// Most are called what they are. The others, which a property list or Swift's `String` would change or confuse with
/// one another, are written as `%coffer:` and their bytes in percent encoding: `docs/formats/preferences.md`.
package struct PreferenceName {
  private static let prefix = "%coffer:"

  package let string: String

  package init(_ key: StoreKey) {
    string = Self.isPlain(key.string) ? key.string : Self.escaped(key)
  }

  /// The key of a name; `nil` for one that no key has: empty, too long, or not as ``init(_:)`` writes it.
  package static func key(of name: String) -> StoreKey? {
    guard let key = try? name.hasPrefix(prefix) ? decoded(name.dropFirst(prefix.count)) : StoreKey(name) else {
      return nil
    }
    return PreferenceName(key).string.utf8.elementsEqual(name.utf8) ? key : nil
  }

  /// The name that a key has where somebody else uses another form of its plain one, which Foundation cannot tell
  /// apart.
  package static func escaped(_ key: StoreKey) -> String { prefix + encoded(key) }

  /// The key of a name as ``escaped(_:)`` writes it.
  package static func escapedKey(of name: String) -> StoreKey? {
    guard name.hasPrefix(prefix), let key = try? decoded(name.dropFirst(prefix.count)) else { return nil }
    return escaped(key).utf8.elementsEqual(name.utf8) ? key : nil
  }

  /// Whether a property list gives the name back byte for byte, and no other name is equal to it.
  private static func isPlain(_ name: String) -> Bool {
    guard !name.hasPrefix(prefix) else { return false }
    guard !name.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return true }
    return name.unicodeScalars.allSatisfy(isPlain)
      && name.precomposedStringWithCanonicalMapping.utf8.elementsEqual(name.utf8)
  }

  /// XML has no control characters and non-characters, and marks of byte order and writing direction get lost.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .format: scalar.properties.isJoinControl
    case .control, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }

  private static func encoded(_ key: StoreKey) -> String {
    var text = ""
    for byte in key.string.utf8 {
      let scalar = Unicode.Scalar(byte)
      let isLetter = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      text += isLetter || scalar == "." || scalar == "-" || scalar == "_" ? String(scalar) : hexadecimal(byte)
    }
    return text
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return byte < 16 ? "%0" + digits : "%" + digits
  }

  /// Not by Foundation, which takes a mark of byte order away.
  private static func decoded(_ text: Substring) throws -> StoreKey? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2).map { Unicode.Scalar($0) }
      guard digits.count == 2, let value = UInt8(digits.map { String($0) }.joined(), radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return try String(validating: bytes, as: UTF8.self).map { try StoreKey($0) }
  }
}
