import CofferCore
import Foundation

/// The `account` attribute of a key: the key itself, or `%coffer:` followed by its UTF-8 bytes in hexadecimal if it
/// contains a zero byte, which no attribute can hold, or starts with that prefix.
struct KeyringAccount {
  private static let prefix = "%coffer:"

  let text: String

  init(_ key: KeyName) {
    let isPlain = !key.string.utf8.contains(0) && !key.string.hasPrefix(Self.prefix)
    let digits = key.string.utf8.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }
    text = isPlain ? key.string : Self.prefix + digits.joined()
  }

  /// Returns the key of an `account` attribute, or `nil` if no key has it.
  static func key(of text: String) -> KeyName? {
    guard text.hasPrefix(prefix) else { return try? KeyName(text) }
    let digits = Array(text.utf8.dropFirst(prefix.utf8.count))
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
    }
    guard let name = String(validating: bytes, as: UTF8.self), let key = try? KeyName(name) else { return nil }
    return KeyringAccount(key).text.utf8.elementsEqual(text.utf8) ? key : nil
  }
}
