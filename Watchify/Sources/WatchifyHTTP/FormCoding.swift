/// Percent-encoding (RFC 3986, 2.1).
enum PercentCoding {
  /// Returns the decoded text. A "%" that two hexadecimal digits do not follow stays; ill-formed UTF-8 is replaced.
  static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2, let high = digit(rest[rest.startIndex]),
        let low = digit(rest[rest.startIndex + 1])
      {
        bytes.append(high << 4 | low)
        rest.removeFirst(2)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the text with every byte encoded but the unreserved characters (RFC 3986, 2.3).
  static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0" + digits : "%" + digits
      }
    }
    return result
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// The encoding of queries and forms (`application/x-www-form-urlencoded`, WHATWG URL standard, 5).
public enum FormCoding {
  /// Returns the items of an encoded text, in order. An item without "=" has an empty value.
  public static func items(_ text: String) -> [(name: String, value: String)] {
    text.split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (
        PercentCoding.decoded(parts[0], plusIsSpace: true),
        parts.count > 1 ? PercentCoding.decoded(parts[1], plusIsSpace: true) : ""
      )
    }
  }

  /// Returns the encoded text of items, in order.
  public static func encoded(_ items: [(name: String, value: String)]) -> String {
    items.map { PercentCoding.encoded($0.name) + "=" + PercentCoding.encoded($0.value) }.joined(separator: "&")
  }

  /// Returns the encoded form of one component of a path or query.
  public static func encoded(component: String) -> String { PercentCoding.encoded(component) }
}
