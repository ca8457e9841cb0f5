import CofferPresence
import Foundation

/// The kept form of a value before its migration: its attributes and bytes, and a digest of the value that replaced it.
///
/// It is stored under a key of its own (``KeptForms``), so that an encrypted store encrypts it like the value and a
/// store of secrets keeps it secret. Listings leave it out. It counts only while the digest matches the present value.
/// One changed bit in it is detected by its own checksum, in stores without one.
struct OldForm: Sendable {
  private static let magic: [UInt8] = [0x43, 0x4F, 0x46, 1]

  let data: Data
  let attributes: ValueAttributes
  private let successor: UInt64

  init(of entry: StoreEntry, replacedBy data: Data) {
    self.data = entry.value
    attributes = entry.attributes
    successor = Self.digest(data)
  }

  /// Reads the kept form of a value.
  /// - Throws: `StorageError` with code `damaged`.
  private init(_ stored: Data, of key: StoreKey, at location: String) throws {
    let bytes = [UInt8](stored)
    func number(_ start: Int, _ size: Int) -> UInt64 {
      bytes[start..<start + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard bytes.count >= 24, Array(bytes.prefix(4)) == Self.magic, number(4, 8) == Self.digest(bytes.dropFirst(12)),
      case let size = Int(number(20, 4)), bytes.count >= 24 + size,
      let attributes = ValueAttributes(encoded: bytes[24..<24 + size])
    else {
      throw StorageError(
        .damaged, "The kept old form of a value is damaged.",
        advice: "The present value is intact, and the migration cannot be rolled back.", location: location,
        key: key)
    }
    successor = number(12, 8)
    self.attributes = attributes
    data = Data(bytes[(24 + size)...])
  }

  /// Reads a kept form.
  /// - Returns: `nil` if there is none, or if the value was replaced since.
  /// - Throws: `StorageError` with code `damaged`.
  init?(_ stored: Data?, of key: StoreKey, replacedBy data: Data, at location: String) throws {
    guard let stored else { return nil }
    try self.init(stored, of: key, at: location)
    guard Self.digest(data) == successor else { return nil }
  }

  var encoded: Data {
    func bytes(_ number: UInt64, _ size: Int) -> [UInt8] {
      withUnsafeBytes(of: number.littleEndian) { Array($0.prefix(size)) }
    }
    let content = bytes(successor, 8) + bytes(UInt64(attributes.encoded.count), 4) + attributes.encoded + [UInt8](data)
    return Data(Self.magic + bytes(Self.digest(content), 8) + content)
  }

  /// FNV-1a in 64 bits. Each step is a bijection, so that one changed byte always changes the result.
  private static func digest(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
