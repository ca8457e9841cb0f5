package import CofferCore
package import CofferCrypto
package import CofferSlots
import Foundation

/// A sealed file, opened. Its values are in memory that is locked and wiped.
package struct SealedDocument: Sendable {
  /// One value, its version and what was said of it.
  package struct Item: Equatable, Sendable {
    package let version: SlotID
    package let tag: UInt8
    package let data: SecretSlice
  }

  var header: SealedHeader
  var items: [StoreKey: Item] = [:]
}

/// The values of a sealed file in a row, before they are sealed: `docs/formats/sealed.md`.
package enum SealedPayload {
  /// The size of what stands before the key of a value.
  private static let prefixSize = 25

  package static func encode(_ items: [StoreKey: SealedDocument.Item]) throws -> SecretBytes {
    let size = items.reduce(4) { $0 + prefixSize + $1.key.string.utf8.count + $1.value.data.count }
    return try SecretBytes(count: size) { bytes in
      var offset = 0
      func put(_ part: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: part)
        offset += part.count
      }
      func put(integer value: some FixedWidthInteger) { withUnsafeBytes(of: value.bigEndian) { put($0) } }
      put(integer: UInt32(items.count))
      for (key, item) in items.sorted(by: { $0.key < $1.key }) {
        put(integer: item.version.owner)
        put(integer: item.version.number)
        put(integer: item.tag)
        put(integer: UInt32(key.string.utf8.count))
        put(integer: UInt32(item.data.count))
        Array(key.string.utf8).withUnsafeBytes { put($0) }
        item.data.withUnsafeBytes { put($0) }
      }
    }
  }

  /// The values are parts of `bytes`, not copies.
  /// - Throws: `damaged`.
  package static func decode(_ bytes: SecretBytes) throws(StorageError) -> [StoreKey: SealedDocument.Item] {
    var reader = SecretReader(bytes)
    var items: [StoreKey: SealedDocument.Item] = [:]
    let count = try reader.integer(UInt32.self)
    for _ in 0..<count {
      let version = SlotID(owner: try reader.integer(UInt64.self), number: try reader.integer(UInt64.self))
      let tag = try reader.integer(UInt8.self)
      let (nameSize, size) = (try reader.integer(UInt32.self), try reader.integer(UInt32.self))
      guard let key = try reader.key(size: Int(nameSize)), items[key] == nil else { throw SealedPayload.damaged }
      items[key] = SealedDocument.Item(version: version, tag: tag, data: try reader.take(Int(size)))
    }
    guard reader.isAtEnd else { throw SealedPayload.damaged }
    return items
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The sealed store is damaged: its values are not those that were written.")
  }
}

/// A value that waits for its place, before it is sealed: its tag, whose it is, and its bytes.
enum WaitingPayload {
  static var damaged: StorageError {
    StorageError(
      .damaged, "A value that waits for its place is damaged, or another store's.",
      advice: "Write the key again. Other keys are not affected.")
  }

  static func encode(_ data: Data, for key: StoreKey?, tag: UInt8) throws -> SecretBytes {
    let name = Array((key?.string ?? "").utf8)
    return try SecretBytes(count: 5 + name.count + data.count) { bytes in
      bytes[0] = tag
      withUnsafeBytes(of: UInt32(name.count).bigEndian) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[1...]).copyMemory(from: $0)
      }
      UnsafeMutableRawBufferPointer(rebasing: bytes[5...]).copyBytes(from: name)
      UnsafeMutableRawBufferPointer(rebasing: bytes[(5 + name.count)...]).copyBytes(from: data)
    }
  }

  /// - Throws: `damaged`, also for bytes that were kept for people to look at.
  static func decode(_ bytes: SecretBytes) throws(StorageError) -> (key: StoreKey, item: SealedItem) {
    var reader = SecretReader(bytes)
    let tag = try reader.integer(UInt8.self)
    guard let key = try reader.key(size: Int(try reader.integer(UInt32.self))) else { throw WaitingPayload.damaged }
    return (key, SealedItem(data: reader.rest, tag: tag))
  }

  /// Format 1 did not say whose value it is.
  static func decodeFirst(_ bytes: SecretBytes) throws(StorageError) -> SealedItem {
    var reader = SecretReader(bytes)
    let tag = try reader.integer(UInt8.self)
    return SealedItem(data: reader.rest, tag: tag)
  }
}

/// A value and what was said of it.
struct SealedItem: Sendable {
  let data: SecretSlice
  let tag: UInt8
}

/// Takes a secret apart from its beginning on.
private struct SecretReader {
  private let bytes: SecretBytes
  private var offset = 0

  init(_ bytes: SecretBytes) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }
  var rest: SecretSlice { SecretSlice(bytes, offset..<bytes.count) }

  mutating func take(_ count: Int) throws(StorageError) -> SecretSlice {
    guard count <= bytes.count - offset else { throw SealedPayload.damaged }
    defer { offset += count }
    return SecretSlice(bytes, offset..<(offset + count))
  }

  mutating func integer<I: FixedWidthInteger>(_ type: I.Type) throws(StorageError) -> I {
    try take(MemoryLayout<I>.size).withUnsafeBytes { I(bigEndian: $0.loadUnaligned(as: I.self)) }
  }

  /// `nil` for what is no key.
  mutating func key(size: Int) throws(StorageError) -> StoreKey? {
    try take(size).withUnsafeBytes { String(validating: $0, as: UTF8.self) }.flatMap { try? StoreKey($0) }
  }
}
