/// The bytes of the mark of a value's version. They are read in any form, so that an unknown one is not taken for a
/// missing one.
package struct SchemaMarkBytes: ValueAttributeContent {
  package let bytes: [UInt8]

  package var attributeContent: [UInt8] { bytes }

  package init(bytes: [UInt8]) { self.bytes = bytes }
  package init?(attributeContent: ArraySlice<UInt8>) { bytes = Array(attributeContent) }
}

extension ValueAttribute<SchemaMarkBytes> {
  /// The version of a value.
  package static let schema = ValueAttribute(code: 10)
}
