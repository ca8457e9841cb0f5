package import CofferCore
import CofferCrypto
import Foundation

/// How a key is written as the name of a file.
///
/// ```
/// theme                → theme
/// syncIntervalMinutes  → sync+interval+minutes
/// ../a b               → %2e.%2fa%20b
/// ```
///
/// Different keys have different names on every file system, also on those that ignore case or merge Unicode forms: a
/// name has no uppercase letter and nothing but ASCII.
///
/// - `a`-`z`, `0`-`9`, `.`, `_` and `-` stand for themselves, an uppercase letter is `+` and its lowercase letter, and
///   every other byte is `%` and two hex digits.
/// - The first byte is escaped where the name would otherwise start with `.` (hidden, or `..`), start with `-` (an
///   option to the program of somebody who types `rm *` here), or be a device of Windows (`con`, `com1.log`).
/// - The last byte is escaped if it is `.`, which Windows drops.
/// - What would be longer than 200 bytes is cut after about 100, and `%h` and the key's SHA-256 follow. `%h` is no
///   escape, so no other key has this name; the key itself cannot be read from it.
package struct FileName: Hashable, Sendable {
  /// At most 255 bytes, which is what file systems take; ASCII only.
  package let string: String
  /// Whether the name holds a hash in place of the whole key.
  package let isHashed: Bool

  private static let wholeLimit = 200
  private static let prefixLimit = 100
  /// The longest unit is `%xx`, so a cut leaves at most two bytes free.
  private static let prefixMinimum = prefixLimit - 2
  private static let hashMark = [UInt8(ascii: "%"), UInt8(ascii: "h")]
  private static let hashDigits = 64

  /// The name of the file that holds a key's value.
  package init(_ key: StoreKey) {
    let whole = key.withBytes { bytes in
      withUnsafeTemporaryAllocation(byteCount: Self.wholeLimit, alignment: 1) { space -> String? in
        let written = encode(bytes, into: space)
        return written.isComplete ? String(decoding: space[..<written.size], as: UTF8.self) : nil
      }
    }
    isHashed = whole == nil
    string = whole ?? Self.hashed(key)
  }

  private static func hashed(_ key: StoreKey) -> String {
    key.withBytes { bytes in
      var name = encodedPrefix(of: bytes)
      name += hashMark
      for byte in sha256(Data(bytes)) { name += [hexDigit(byte >> 4), hexDigit(byte & 0xF)] }
      return String(decoding: name, as: UTF8.self)
    }
  }

  /// The first units that fit, for people to recognise the key by.
  private static func encodedPrefix(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: prefixLimit, alignment: 1) { space in
      let written = encode(bytes, into: space, isCut: true)
      return Array(space[..<written.size])
    }
  }

  /// The key that is written so; `nil` for names that no key has, and for hashed ones, whose key only the file knows.
  ///
  /// Only the one right spelling counts: `%61` is not `a`, so that no two files are the same key.
  package static func key(of name: String) -> StoreKey? {
    let size = name.utf8.count
    guard size > 0, size <= wholeLimit, let bytes = decode(Array(name.utf8)) else { return nil }
    // Bytes that are not UTF-8 become replacement characters here and so do not encode to the same name.
    guard let key = try? StoreKey(String(decoding: bytes, as: UTF8.self)) else { return nil }
    return FileName(key).string == name ? key : nil
  }

  /// Whether the name is a well-formed hashed one: a prefix that some key has, the mark and a hash.
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

  /// Whether some text in UTF-8 starts with these bytes. The cut may be inside a character.
  private static func isStartOfText(_ bytes: [UInt8]) -> Bool {
    // Whatever the last character lacks is one of these: only E0 and F0 do not go on with 80.
    let ends: [[UInt8]] = [[], [0x80], [0x80, 0x80], [0x80, 0x80, 0x80], [0xA0, 0x80], [0x90, 0x80, 0x80]]
    return ends.contains { end in
      let candidate = bytes + end
      return String(decoding: candidate, as: UTF8.self).utf8.elementsEqual(candidate)
    }
  }
}

/// Writes as many whole units as fit. With `isCut`, more of the key follows, so that its last byte is not here.
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

/// The bytes that units stand for; `nil` when there is something else. Whether each unit is the right one is not asked.
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

/// Whether Windows takes the name for a device: by what stands before the first dot. An uppercase letter in it is
/// written with a `+`, so only lowercase names count.
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
