/// The encoding of the selection that a batch changed, as a journal row stores it: `docs/formats/sqlite.md`, "changed".
///
/// One version byte and one flag byte, then the keys, the prefixes and, if there are any, the records. Each list is a
/// count followed by its names, and each name a length followed by its bytes. Numbers are LEB128.
extension StoreSelection {
  private static let version: UInt8 = 1
  private static let everythingFlag: UInt8 = 1
  private static let recordsFlag: UInt8 = 2

  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(keys.reduce(16) { $0 + $1.size + 2 })
    bytes.append(Self.version)
    bytes.append((isEverything ? Self.everythingFlag : 0) | (records.isEmpty ? 0 : Self.recordsFlag))
    bytes.append(keys)
    bytes.append(prefixes)
    if !records.isEmpty { bytes.append(records.map(\.key)) }
    return bytes
  }

  /// Decodes the output of ``encoded()``; `nil` for anything else. Never reads or allocates beyond the given bytes.
  package init?(decoding bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard reader.byte() == Self.version, let flags = reader.byte(),
      flags & ~(Self.everythingFlag | Self.recordsFlag) == 0, let keys = reader.names(), let prefixes = reader.names(),
      let names = flags & Self.recordsFlag == 0 ? [] : reader.names(), reader.isAtEnd,
      names.isEmpty == (flags & Self.recordsFlag == 0)
    else { return nil }
    let records = names.map { SystemRecord.Name($0) }
    if flags & Self.everythingFlag != 0 {
      guard keys.isEmpty, prefixes.isEmpty else { return nil }
      self = .everything(records: records)
    } else {
      self.init(keys: keys, prefixes: prefixes, records: records)
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ names: [KeyName]) {
    append(number: UInt64(names.count))
    for name in names {
      name.withBytes { content in
        append(number: UInt64(content.count))
        append(contentsOf: content)
      }
    }
  }

  fileprivate mutating func append(number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}

private struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func byte() -> UInt8? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 63, by: 7) {
      guard let byte = byte() else { return nil }
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  mutating func names() -> [KeyName]? {
    guard let count = number(), count <= UInt64(bytes.count - position) else { return nil }
    var names: [KeyName] = []
    names.reserveCapacity(Int(count))
    for _ in 0..<count {
      guard let size = number(), size <= UInt64(bytes.count - position) else { return nil }
      let range = position..<(position + Int(size))
      guard let text = String(validating: bytes[range], as: UTF8.self), let key = try? KeyName(text) else {
        return nil
      }
      names.append(key)
      position = range.upperBound
    }
    return names
  }
}
