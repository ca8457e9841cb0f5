import Coffer
import Foundation

extension Serializer {
  /// Returns a value with the mark of its version, without the attributes of its key.
  func marked(_ value: Value, _ mark: SchemaMark, _ coding: ByteCoding, _ key: KeyName) throws -> EncodedValue {
    let encoded = try coding.stored(value, isNative: isNative, for: key) { try encode(value) }
    return EncodedValue(encoded.data, mark.attributes.merging(encoded.attributes))
  }
}
