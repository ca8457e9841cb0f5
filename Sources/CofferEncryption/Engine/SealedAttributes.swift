package import CofferCore

/// The bytes of an attribute of the library.
struct AttributeBytes: ValueAttributeContent, Hashable {
  let bytes: [UInt8]

  var attributeContent: [UInt8] { bytes }

  init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  init?(attributeContent: ArraySlice<UInt8>) { bytes = Array(attributeContent) }
}

extension ValueAttribute<UInt8> {
  /// The type of a preference. A store of property lists reports that of the stored bytes, which here are an envelope.
  static let type = ValueAttribute(code: 1)
  /// The type with which an envelope in a store of property lists was written.
  static let hiddenType = ValueAttribute(code: 6)
}

extension ValueAttribute<UInt64> {
  /// A random number that earlier versions have bound to each value of a store whose values an anchor covered.
  static let version = ValueAttribute(code: 8)
}

extension ValueAttribute<AttributeBytes> {
  /// The name of a value whose key is opaque, in an envelope.
  static let sealedName = ValueAttribute(code: 5)
}

extension ValueAttributes {
  /// Whether the attributes have the sealed name of a value whose key is opaque.
  package var hasSealedName: Bool { isMarked && self[.sealedName] != nil }

  /// Whether the attributes mark an envelope of a version that this one can open.
  var hasKnownMark: Bool { beginsWithMark || self[.envelope] == Self.envelope[.envelope] }

  /// Whether the known mark is the first attribute, which the bytes show without decoding any.
  private var beginsWithMark: Bool { encoded.starts(with: Self.envelope.encoded) }

  /// Returns the attributes with the mark, as they are stored and bound.
  /// - Parameter mark: the mark, with the sealed name of a value whose name is hidden.
  func marked(_ mark: ValueAttributes? = nil) -> ValueAttributes { merging(mark ?? Self.envelope) }

  /// Returns the attributes without those of the encryption, as a caller sees them.
  var visible: ValueAttributes {
    guard isMarked else { return self }
    // Most values have no other attributes than the mark and, if names are hidden, the name.
    if isMarkOnly { return .none }
    var visible = self
    visible[.envelope] = nil
    visible[.sealedName] = nil
    visible[.version] = nil
    return visible
  }

  /// Whether there is nothing but the known mark and, at most, a sealed name.
  private var isMarkOnly: Bool {
    let start = Self.envelope.encoded.count
    guard beginsWithMark, encoded.count >= start + 3 else { return encoded == Self.envelope.encoded }
    return encoded[start] == ValueAttribute.sealedName.code
      && start + 3 + Int(encoded[start + 1]) + Int(encoded[start + 2]) << 8 == encoded.count
  }

  /// Returns the attributes for a store of property lists, with the type where the store does not replace it.
  var hidingType: ValueAttributes { moving(.type, to: .hiddenType) }

  /// Returns the attributes of a store of property lists with the type that ``hidingType`` has hidden.
  var showingType: ValueAttributes { moving(.hiddenType, to: .type) }

  /// Returns the attributes without the type that a store of property lists reports.
  var untyped: ValueAttributes {
    guard self[.type] != nil else { return self }
    var untyped = self
    untyped[.type] = nil
    return untyped
  }

  private func moving(_ source: ValueAttribute<UInt8>, to target: ValueAttribute<UInt8>) -> ValueAttributes {
    guard !isEmpty, self[source] != nil || self[target] != nil else { return self }
    var moved = self
    moved[target] = self[source]
    moved[source] = nil
    return moved
  }
}
