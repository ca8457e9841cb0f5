package import CofferCore
package import Foundation

/// The circumstances of an encrypted value. An envelope can be opened only in the circumstances that it was sealed in:
/// copied to another key or store, or with other attributes, it is not authentic.
package struct EnvelopeContext: Sendable {
  /// The id of the store, 16 random bytes.
  package var store: Data
  /// The key of the value.
  package var key: StoreKey
  /// The attributes that are stored beside the value and that nobody else may change.
  package var attributes: ValueAttributes
  /// What the value is, for engines that seal several kinds.
  package var format: UInt8

  /// - Parameter store: the id of the store, 16 bytes.
  package init(store: Data, key: StoreKey, attributes: ValueAttributes = .none, format: UInt8 = 0) {
    self.store = store
    self.key = key
    self.attributes = attributes
    self.format = format
  }

  /// Returns the associated data of an envelope: its header, then each field after its size. Different circumstances
  /// have different associated data.
  func associatedData(_ header: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes = [UInt8](capacity: header.count + store.count + key.size + attributes.encoded.count + 13)
    bytes += header
    bytes.append(format)
    bytes.append(size: store.count)
    bytes += store
    bytes.append(size: key.size)
    key.withBytes { bytes += $0 }
    bytes.append(size: attributes.encoded.count)
    bytes += attributes.encoded
    return bytes
  }
}

extension [UInt8] {
  /// Appends a size as four bytes, the most significant one first.
  fileprivate mutating func append(size: Int) {
    let size = UInt32(clamping: size)
    append(UInt8(truncatingIfNeeded: size >> 24))
    append(UInt8(truncatingIfNeeded: size >> 16))
    append(UInt8(truncatingIfNeeded: size >> 8))
    append(UInt8(truncatingIfNeeded: size))
  }
}
