import CofferPresence
import Foundation

/// The kept form of a value before its migration: its attributes and bytes, and a digest of the value that replaced it.
///
/// It is stored under a key of its own, so that an encrypted store encrypts it like the value. It counts only while the
/// digest matches the present value. One changed bit in it is detected by its own checksum, in stores without one.
struct OldForm: Sendable {
  static let suffix = ".coffer-old-form"
  private static let magic: [UInt8] = [0x43, 0x4F, 0x46, 1]

  let data: Data
  let attributes: ValueAttributes
  private let successor: UInt64

  static func isKey(_ key: StoreKey) -> Bool { key.string.utf8.reversed().starts(with: suffix.utf8.reversed()) }

  /// Returns the key of the kept form of a value; `nil` if the key is too long for one, which then keeps none.
  static func key(of key: StoreKey) -> StoreKey? { try? StoreKey(key.string + suffix) }

  init(of entry: StoreEntry, replacedBy data: Data) {
    self.data = entry.value
    attributes = entry.attributes
    successor = Self.digest(data)
  }

  /// Reads a kept form.
  /// - Throws: `StorageError` with code `damaged`.
  init(_ stored: StoreEntry, at location: String) throws {
    let bytes = [UInt8](stored.value)
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
        key: stored.key)
    }
    successor = number(12, 8)
    self.attributes = attributes
    data = Data(bytes[(24 + size)...])
  }

  var encoded: Data {
    func bytes(_ number: UInt64, _ size: Int) -> [UInt8] {
      withUnsafeBytes(of: number.littleEndian) { Array($0.prefix(size)) }
    }
    let content = bytes(successor, 8) + bytes(UInt64(attributes.encoded.count), 4) + attributes.encoded + [UInt8](data)
    return Data(Self.magic + bytes(Self.digest(content), 8) + content)
  }

  func isReplaced(by data: Data) -> Bool { Self.digest(data) == successor }

  /// FNV-1a in 64 bits. Each step is a bijection, so that one changed byte always changes the result.
  private static func digest(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
