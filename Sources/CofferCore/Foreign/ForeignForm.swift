extension ValueAttribute<UInt8> {
  /// The form in which another program has stored a value in a store of Coffer: 1 for a JSON object with a transaction
  /// id. It is recorded with the edit, and gone when the key is written again.
  package static let foreignForm = ValueAttribute(code: 12)

  /// The encoding of a value that was taken over from another library and not written since. Every value that is
  /// written during a take-over in place has the attribute, by which it is told from the originals.
  package static let legacyEncoding = ValueAttribute(code: 9)
}

extension ValueAttributes {
  /// The value of the attribute for bytes that are the value.
  package static let plainBytes: UInt8 = 0
}

extension StorageError {
  /// Returns the error for a value whose bytes are not what was stored under its key: they are in a form of another
  /// program, or an envelope that was not opened. Returns `nil` for any other.
  package static func foreignForm(
    _ attributes: ValueAttributes, at location: @autoclosure () -> String, key: StoreKey
  ) -> StorageError? {
    guard !attributes.isEmpty else { return nil }
    guard !attributes.isSealed else { return .isSealed(key, location: location()) }
    guard attributes[.foreignForm] != nil else { return nil }
    return StorageError(
      .foreignFormat, "Another program has stored the value in its own form: a JSON object with a transaction id.",
      advice: "Take it over from the directory of the store itself, or write the key again. It is unchanged.",
      location: location(), key: key)
  }
}
