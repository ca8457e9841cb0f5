extension KeyName {
  /// The smallest byte string greater than every key with this prefix; it exists, since UTF-8 has no byte 0xFF.
  package var successor: [UInt8] {
    var bytes = Array(string.utf8)
    bytes[bytes.count - 1] += 1
    return bytes
  }
}
