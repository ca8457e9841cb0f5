package import CofferCore
import Foundation

/// The name that represents a key in a property list.
///
/// Most keys are used unchanged. Keys that a property list would alter, or that `String` would compare as equal, are
/// written as `%coffer:` followed by their percent-encoded bytes, as `docs/formats/preferences.md` describes.
package struct PreferenceName {
  private static let prefix = "%coffer:"

  package let string: String

  package init(_ key: KeyName) {
    string = Self.isPlain(key.string) ? key.string : Self.escaped(key)
  }

  /// Returns the key of a name; `nil` for a name that no key has: empty, too long, or not as ``init(_:)`` writes it.
  package static func key(of name: String) -> KeyName? {
    guard let key = try? name.hasPrefix(prefix) ? decoded(name.dropFirst(prefix.count)) : KeyName(name) else {
      return nil
    }
    return PreferenceName(key).string.utf8.elementsEqual(name.utf8) ? key : nil
  }

  /// Returns the escaped name of a key. It is used if another program uses a canonically equivalent form of its plain
  /// name, which Foundation cannot distinguish.
  package static func escaped(_ key: KeyName) -> String { prefix + encoded(key) }

  /// Returns the key of a name that ``escaped(_:)`` has written.
  package static func escapedKey(of name: String) -> KeyName? {
    guard name.hasPrefix(prefix), let key = try? decoded(name.dropFirst(prefix.count)) else { return nil }
    return escaped(key).utf8.elementsEqual(name.utf8) ? key : nil
  }

  /// Whether a property list preserves the name byte for byte, and no other name is canonically equivalent to it.
  private static func isPlain(_ name: String) -> Bool {
    guard !name.hasPrefix(prefix) else { return false }
    guard !name.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return true }
    return name.unicodeScalars.allSatisfy(isPlain)
      && name.precomposedStringWithCanonicalMapping.utf8.elementsEqual(name.utf8)
  }

  /// Whether a scalar survives in XML, which has no control characters or noncharacters and drops byte order marks and
  /// direction marks.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .format: scalar.properties.isJoinControl
    case .control, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }

  private static func encoded(_ key: KeyName) -> String {
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

  /// Decodes percent encoding, without Foundation, which drops a byte order mark.
  private static func decoded(_ text: Substring) throws -> KeyName? {
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
    return try String(validating: bytes, as: UTF8.self).map { try KeyName($0) }
  }
}
