package import CofferCore
package import CofferCrypto
package import CofferSlots
import Foundation

/// The decrypted contents of a sealed file. The values are in memory that is locked and wiped.
package struct SealedDocument: Sendable {
  /// A value with its version and, as `tag`, its accessibility class.
  package struct Item: Equatable, Sendable {
    package let version: SlotID
    package let tag: UInt8
    package let data: SecretSlice
  }

  var header: SealedHeader
  var items: [StoreKey: Item] = [:]
}

/// The serialized values of a sealed file before encryption, as described in `docs/formats/sealed.md`.
package enum SealedPayload {
  /// The size in bytes of the fields that precede a value's key.
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

  /// Returns the values, as slices of `bytes` and not copies.
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
    StorageError(.damaged, "The sealed store is damaged: its values are corrupt.")
  }
}

/// The serialized form of a staged or retained value before encryption: its tag, its key and its bytes.
enum StagedPayload {
  static var damaged: StorageError {
    StorageError(
      .damaged, "A staged or retained value is damaged, or belongs to another store.",
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

  /// Returns the key and the value.
  /// - Throws: `damaged`, also for quarantined bytes, which have no key.
  static func decode(_ bytes: SecretBytes) throws(StorageError) -> (key: StoreKey, item: SealedItem) {
    var reader = SecretReader(bytes)
    let tag = try reader.integer(UInt8.self)
    guard let key = try reader.key(size: Int(try reader.integer(UInt32.self))) else { throw StagedPayload.damaged }
    return (key, SealedItem(data: reader.rest, tag: tag))
  }

  /// Returns a value of format 1, which does not record the key.
  static func decodeFirst(_ bytes: SecretBytes) throws(StorageError) -> SealedItem {
    var reader = SecretReader(bytes)
    let tag = try reader.integer(UInt8.self)
    return SealedItem(data: reader.rest, tag: tag)
  }
}

/// A value and, as `tag`, its accessibility class.
struct SealedItem: Sendable {
  let data: SecretSlice
  let tag: UInt8
}

/// A sequential reader of the bytes of a secret.
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

  /// Reads a key of `size` bytes, or returns `nil` if it is not valid.
  mutating func key(size: Int) throws(StorageError) -> StoreKey? {
    try take(size).withUnsafeBytes { String(validating: $0, as: UTF8.self) }.flatMap { try? StoreKey($0) }
  }
}
