package import CofferCore
import CofferSQLite
package import Foundation

/// The journal record of one value in its slot. `docs/formats/files.md` ("The record") describes its bytes.
package struct SlotRecord: Hashable, Sendable {
  /// The size of an encoded record without its attributes, in bytes.
  package static let size = 62
  private static let version: UInt8 = 1

  package let id: SlotID
  /// The checksum of the key and the value.
  package let checksum: UInt32
  /// The size of the value, in bytes.
  package let size: Int
  package var stamp: SlotStamp?
  /// Whether and how the version is lost. If it is, `checksum`, `size` and `stamp` describe the slot's present content.
  package private(set) var loss = Loss.none
  /// The attributes stored with the version, merged with those that the store reports.
  package var attributes = ValueAttributes.none

  /// How a version was lost when its store was damaged.
  package enum Loss: UInt8, Sendable {
    case none
    /// The slot holds an older value, from a copy of the store.
    case older
    /// The slot is empty.
    case missing
  }

  package init(id: SlotID, checksum: UInt32, size: Int, stamp: SlotStamp?) {
    self.id = id
    self.checksum = checksum
    self.size = size
    self.stamp = stamp
  }

  init(id: SlotID, key: KeyName, content: SlotContent) {
    let checksum = CofferCore.checksum(key, content.data)
    self.init(id: id, checksum: checksum, size: content.data.count, stamp: content.stamp)
  }

  /// Whether the version is not lost and these are its bytes.
  func matches(_ key: KeyName, _ data: Data) -> Bool { loss == .none && describes(key, data) }

  /// Whether the recorded checksum and size match these bytes.
  package func describes(_ key: KeyName, _ data: Data) -> Bool {
    data.count == size && CofferCore.checksum(key, data) == checksum
  }

  /// Returns a copy of the record with another loss.
  func lost(_ loss: Loss) -> SlotRecord {
    var record = self
    record.loss = loss
    return record
  }

  /// Decodes a record from its ``encoded`` form; `nil` for anything else.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.size, bytes[0] == Self.version,
      let loss = Loss(rawValue: bytes[29] >> 1)
    else { return nil }
    func number(at offset: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    guard let size = Int(exactly: number(at: 21)) else { return nil }
    let stamp = SlotStamp(number(at: 30), number(at: 38), number(at: 46), number(at: 54))
    guard bytes[29] & 1 == 1 || stamp == SlotStamp(0) else { return nil }
    guard let id = SlotID(UnsafeRawBufferPointer(rebasing: bytes[1..<17])) else { return nil }
    self.init(
      id: id, checksum: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 17, as: UInt32.self)), size: size,
      stamp: bytes[29] & 1 == 1 ? stamp : nil)
    self.loss = loss
    guard bytes.count > Self.size else { return }
    guard let attributes = ValueAttributes(encoded: bytes[Self.size...]) else { return nil }
    self.attributes = attributes
  }

  package var encoded: Data {
    let head = [UInt8](unsafeUninitializedCapacity: Self.size) { bytes, count in
      let raw = UnsafeMutableRawBufferPointer(bytes)
      raw[0] = Self.version
      raw.storeBytes(of: id.owner.bigEndian, toByteOffset: 1, as: UInt64.self)
      raw.storeBytes(of: id.number.bigEndian, toByteOffset: 9, as: UInt64.self)
      raw.storeBytes(of: checksum.littleEndian, toByteOffset: 17, as: UInt32.self)
      raw.storeBytes(of: UInt64(size).littleEndian, toByteOffset: 21, as: UInt64.self)
      raw[29] = (stamp == nil ? 0 : 1) | loss.rawValue << 1
      let words = stamp?.words ?? (0, 0, 0, 0)
      raw.storeBytes(of: words.0.littleEndian, toByteOffset: 30, as: UInt64.self)
      raw.storeBytes(of: words.1.littleEndian, toByteOffset: 38, as: UInt64.self)
      raw.storeBytes(of: words.2.littleEndian, toByteOffset: 46, as: UInt64.self)
      raw.storeBytes(of: words.3.littleEndian, toByteOffset: 54, as: UInt64.self)
      count = Self.size
    }
    return attributes.isEmpty ? Data(head) : Data(head) + attributes.encoded
  }
}

extension SlotID {
  /// The owner and the number as 16 bytes, most significant first.
  var bytes: Data { withUnsafeBytes(of: (owner.bigEndian, number.bigEndian)) { Data($0) } }

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    self.init(
      owner: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      number: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  init?(_ data: Data) {
    guard let id = data.withUnsafeBytes({ SlotID($0) }) else { return nil }
    self = id
  }
}
