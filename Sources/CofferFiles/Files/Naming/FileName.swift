package import CofferCore
import CofferEncryption
import Foundation

/// The file name that represents a key.
///
/// ```
/// theme                → theme
/// syncIntervalMinutes  → sync+interval+minutes
/// ../a b               → %2e.%2fa%20b
/// ```
///
/// Different keys have different names on every file system, even on those that ignore case or normalize Unicode: a
/// name consists of ASCII characters without uppercase letters.
///
/// - `a`-`z`, `0`-`9`, `.`, `_` and `-` stand for themselves, an uppercase letter is `+` and its lowercase letter, and
///   every other byte is `%` and two hex digits.
/// - The first byte is escaped if the name would otherwise start with `.` (a hidden file, or `..`) or `-` (an option to
///   a program called as `rm *`), or be the name of a Windows device (`con`, `com1.log`).
/// - The last byte is escaped if it is `.`, which Windows drops.
/// - A name longer than 200 bytes is truncated to about 100, followed by `%h` and the SHA-256 of the key. `%h` is not a
///   valid escape, so no other key has this name; the key cannot be recovered from it.
package struct FileName: Hashable, Sendable {
  /// The name: ASCII only, at most 255 bytes, the limit of file systems.
  package let string: String
  /// Whether the name contains a hash instead of the whole key.
  package let isHashed: Bool

  private static let wholeLimit = 200
  private static let prefixLimit = 100
  /// The longest unit is `%xx`, so truncation leaves at most two bytes unused.
  private static let prefixMinimum = prefixLimit - 2
  private static let hashMark = [UInt8(ascii: "%"), UInt8(ascii: "h")]
  private static let hashDigits = 64

  /// Creates the name of the file that holds the value of a key.
  package init(_ key: KeyName) {
    let whole = key.withBytes { bytes -> String? in
      // Most keys are their own names.
      if bytes.count <= Self.wholeLimit, isPlain(bytes) { return key.string }
      return withUnsafeTemporaryAllocation(byteCount: Self.wholeLimit, alignment: 1) { space -> String? in
        let written = encode(bytes, into: space)
        return written.isComplete ? String(decoding: space[..<written.size], as: UTF8.self) : nil
      }
    }
    isHashed = whole == nil
    string = whole ?? Self.hashed(key)
  }

  private static func hashed(_ key: KeyName) -> String {
    key.withBytes { bytes in
      var name = encodedPrefix(of: bytes)
      name += hashMark
      for byte in sha256(Data(bytes)) { name += [hexDigit(byte >> 4), hexDigit(byte & 0xF)] }
      return String(decoding: name, as: UTF8.self)
    }
  }

  /// Returns the first units that fit, by which a reader can recognize the key.
  private static func encodedPrefix(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: prefixLimit, alignment: 1) { space in
      let written = encode(bytes, into: space, isCut: true)
      return Array(space[..<written.size])
    }
  }

  /// Returns the key that a name represents; `nil` for names that no key has, and for hashed names.
  ///
  /// Only the canonical spelling is accepted: `%61` is not `a`, so that no two files represent the same key.
  package static func key(of name: String) -> KeyName? {
    let size = name.utf8.count
    guard size > 0, size <= wholeLimit, let bytes = decode(Array(name.utf8)) else { return nil }
    // Bytes that are not UTF-8 become replacement characters here and so do not encode to the same name.
    guard let key = try? KeyName(String(decoding: bytes, as: UTF8.self)) else { return nil }
    return FileName(key).string == name ? key : nil
  }

  /// Whether the name is a well-formed hashed name: a valid prefix, the mark and a hash.
  package static func isHashed(_ name: String) -> Bool {
    let prefixSize = name.utf8.count - hashMark.count - hashDigits
    guard (prefixMinimum...prefixLimit).contains(prefixSize) else { return false }
    let name = Array(name.utf8)
    let hash = name[(prefixSize + hashMark.count)...]
    guard name[prefixSize...].starts(with: hashMark), hash.allSatisfy({ hexValue($0) != nil }) else { return false }
    let prefix = name[..<prefixSize]
    guard let bytes = decode(prefix), isStartOfText(bytes) else { return false }
    return bytes.withUnsafeBytes { encodedPrefix(of: $0).elementsEqual(prefix) }
  }

  /// Whether these bytes are the start of valid UTF-8, which may be truncated inside a character.
  private static func isStartOfText(_ bytes: [UInt8]) -> Bool {
    // One of these completes any truncated character: only E0 and F0 cannot be followed by 80.
    let ends: [[UInt8]] = [[], [0x80], [0x80, 0x80], [0x80, 0x80, 0x80], [0xA0, 0x80], [0x90, 0x80, 0x80]]
    return ends.contains { end in
      let candidate = bytes + end
      return String(decoding: candidate, as: UTF8.self).utf8.elementsEqual(candidate)
    }
  }
}

/// Whether every byte stands for itself.
private func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
  bytes.last != UInt8(ascii: ".") && !isBadStart(bytes)
    && bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
        UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
}

/// Writes as many whole units as fit. With `isCut`, `bytes` is not taken to end with the last byte of the key.
private func encode(
  _ bytes: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, isCut: Bool = false
) -> (size: Int, isComplete: Bool) {
  var size = 0
  let last = isCut ? -1 : bytes.count - 1
  for index in 0..<bytes.count {
    let byte = bytes[index]
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"):
      guard size + 1 < space.count else { return (size, false) }
      space[size] = UInt8(ascii: "+")
      space[size + 1] = byte | 0x20
      size += 2
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
      UInt8(ascii: "-"), UInt8(ascii: "."):
      if index == 0 && isBadStart(bytes) || index == last && byte == UInt8(ascii: ".") { fallthrough }
      guard size < space.count else { return (size, false) }
      space[size] = byte
      size += 1
    default:
      guard size + 2 < space.count else { return (size, false) }
      space[size] = UInt8(ascii: "%")
      space[size + 1] = hexDigit(byte >> 4)
      space[size + 2] = hexDigit(byte & 0xF)
      size += 3
    }
  }
  return (size, true)
}

/// Decodes units to bytes; `nil` for an invalid unit. It does not check that each unit is the canonical one.
private func decode(_ name: some Collection<UInt8>) -> [UInt8]? {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(name.count)
  var rest = name.makeIterator()
  while let byte = rest.next() {
    switch byte {
    case UInt8(ascii: "+"):
      guard let letter = rest.next(), (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) else { return nil }
      bytes.append(letter & ~0x20)
    case UInt8(ascii: "%"):
      guard let high = rest.next().flatMap(hexValue), let low = rest.next().flatMap(hexValue) else { return nil }
      bytes.append(high << 4 | low)
    default: bytes.append(byte)
    }
  }
  return bytes
}

private func isBadStart(_ bytes: UnsafeRawBufferPointer) -> Bool {
  switch bytes[0] {
  case UInt8(ascii: "."), UInt8(ascii: "-"): true
  case UInt8(ascii: "a"), UInt8(ascii: "c"), UInt8(ascii: "l"), UInt8(ascii: "n"), UInt8(ascii: "p"): isDevice(bytes)
  default: false
  }
}

/// Whether the part before the first dot is the name of a Windows device. An uppercase letter is written with a `+`, so
/// only lowercase names matter.
private func isDevice(_ bytes: UnsafeRawBufferPointer) -> Bool {
  func isStem(_ size: Int) -> Bool {
    bytes.count == size || bytes.count > size && bytes[size] == UInt8(ascii: ".")
  }
  func starts(with name: String) -> Bool { bytes.starts(with: name.utf8) }
  if isStem(3) { return starts(with: "con") || starts(with: "prn") || starts(with: "aux") || starts(with: "nul") }
  guard isStem(4), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[3]) else { return false }
  return starts(with: "com") || starts(with: "lpt")
}

private func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
}

private func hexValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  default: nil
  }
}
