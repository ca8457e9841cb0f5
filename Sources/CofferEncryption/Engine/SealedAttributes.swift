package import CofferCore

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
  var hidingType: ValueAttributes { moving(.preferenceKind, to: .hiddenPreferenceKind) }

  /// Returns the attributes of a store of property lists with the type that ``hidingType`` has hidden.
  var showingType: ValueAttributes { moving(.hiddenPreferenceKind, to: .preferenceKind) }

  /// Returns the attributes without the type that a store of property lists reports.
  var untyped: ValueAttributes {
    guard self[.preferenceKind] != nil else { return self }
    var untyped = self
    untyped[.preferenceKind] = nil
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
