package import CofferCore
package import Foundation

/// The circumstances of an encrypted value. An envelope can be opened only in the circumstances that it was sealed in:
/// copied to another key or store, or with other attributes, it is not authentic.
package struct EnvelopeContext: Sendable {
  /// The id of the store, 16 random bytes.
  package var store: [UInt8]
  /// The key of the value.
  package var key: KeyName
  /// The attributes that are stored beside the value and that nobody else may change.
  package var attributes: ValueAttributes
  /// What the value is, for engines that seal several kinds.
  package var format: UInt8

  /// - Parameter store: the id of the store, 16 bytes.
  package init(store: Data, key: KeyName, attributes: ValueAttributes = .none, format: UInt8 = 0) {
    self.init(store: Array(store), key: key, attributes: attributes, format: format)
  }

  package init(store: [UInt8], key: KeyName, attributes: ValueAttributes = .none, format: UInt8 = 0) {
    self.store = store
    self.key = key
    self.attributes = attributes
    self.format = format
  }

  /// The size of the encoded form in bytes.
  var encodedCount: Int { 13 + store.count + key.size + attributes.encoded.count }

  /// Writes the encoded form: the format, then each field after its size. Different circumstances have different
  /// encodings.
  func encode(to bytes: UnsafeMutableRawBufferPointer) {
    bytes[0] = format
    var end = 1
    end = store.withUnsafeBytes { Self.put($0, in: bytes, at: end) }
    end = key.withBytes { Self.put($0, in: bytes, at: end) }
    _ = attributes.encoded.withUnsafeBytes { Self.put($0, in: bytes, at: end) }
  }

  /// Writes a field after its size at an offset; returns the offset of its end.
  private static func put(
    _ field: UnsafeRawBufferPointer, in bytes: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Int {
    bytes.storeBytes(of: UInt32(clamping: field.count).bigEndian, toByteOffset: offset, as: UInt32.self)
    bytes.part(offset + 4, field.count).copyMemory(from: field)
    return offset + 4 + field.count
  }
}
