package import Foundation

/// The bytes of an attribute of the library. They are read in any form, so that an unknown one is not taken for a
/// missing one.
package struct AttributeBytes: ValueAttributeContent, Hashable {
  package let bytes: [UInt8]

  package var attributeContent: [UInt8] { bytes }

  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  package init?(attributeContent: ArraySlice<UInt8>) { bytes = Array(attributeContent) }
}

// The attributes that the library stores with values. Their codes are part of the formats (`docs/formats/sqlite.md`):
// none is used again. Those of applications begin at 128.

extension ValueAttribute<UInt8> {
  /// The requested or present type of a preference. A store of property lists reports that of the stored bytes, which
  /// may be an envelope.
  package static let preferenceKind = ValueAttribute(code: 1)
  /// The raw value of a secret's `KeychainAccessibility`.
  package static let accessibility = ValueAttribute(code: 2)
  /// The mark of a value that is an envelope: the version of its associated data.
  package static let envelope = ValueAttribute(code: 4)
  /// The type with which an envelope in a store of property lists was written.
  package static let hiddenPreferenceKind = ValueAttribute(code: 6)
  /// The raw value of a secret's ``KeychainAccessControl``.
  package static let accessControl = ValueAttribute(code: 7)
  /// With content 1, a text or bytes that an earlier version has stored as a JSON string.
  package static let jsonString = ValueAttribute(code: 9)
  /// A value that an earlier version has stored in the JSON of another program. 11 is of that version, too.
  package static let foreignJSON = ValueAttribute(code: 12)
}

extension ValueAttribute<Date> {
  /// The date from which a value is absent.
  package static let expiry = ValueAttribute(code: 3)
}

extension ValueAttribute<AttributeBytes> {
  /// The name of a value whose key is opaque, in an envelope.
  package static let sealedName = ValueAttribute(code: 5)
  /// The version of a value.
  package static let schema = ValueAttribute(code: 10)
}
