package import Foundation

/// The envelopes of encrypted values, as they are recognized without their key by whoever stores or reads bytes.
package enum SealedValue {
  /// The first bytes of each envelope. The first one is 0xFF, which no text in UTF-8, no JSON and no property list
  /// contains.
  package static let magic: [UInt8] = [0xFF] + "CENV".utf8

  /// Returns whether bytes begin like an envelope.
  package static func isPresent(in bytes: Data) -> Bool { bytes.withUnsafeBytes { isPresent(in: $0) } }

  package static func isPresent(in bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.first == 0xFF && bytes.starts(with: magic)
  }

  /// Whether a new value must not replace an envelope in a store without a key ring, of which a backup may still have
  /// the ring: it is a plain one. An application may keep envelopes of its own as values.
  package static func isRefused(_ value: Data, _ attributes: ValueAttributes) -> Bool {
    !attributes.isSealed && !isPresent(in: value)
  }
}

extension ValueAttributes {
  /// The attributes of an envelope that was sealed with no others.
  package static let envelope: ValueAttributes = {
    var mark = ValueAttributes()
    mark[.envelope] = 1
    return mark
  }()

  /// The attribute of bytes that begin like an envelope and were found without a record, so that it is not known with
  /// which attributes they were sealed.
  package static let foundEnvelope: ValueAttributes = {
    var mark = ValueAttributes()
    mark[.envelope] = 0
    return mark
  }()

  /// Whether the attributes mark an envelope, of any version, or one that was found.
  package var isSealed: Bool {
    // The mark of most values is their only attribute, or the first one.
    !isEmpty && (encoded[0] == ValueAttribute.envelope.code || self[.envelope] != nil)
  }

  /// Whether the attributes mark an envelope, of any version, as the encryption has stored it.
  package var isMarked: Bool { self == .envelope || isSealed && self[.envelope] != 0 }
}

extension StoreEntry {
  /// Returns the entry for a caller outside of the library, who never receives an envelope as a value.
  /// - Throws: `StorageError`: `keyUnavailable`.
  package func requiringPlain(at location: String) throws(StorageError) -> StoreEntry {
    guard attributes.isSealed else { return self }
    throw .isSealed(key, location: location)
  }
}

extension StorageError.Code {
  /// The key that a value was encrypted with is not available: it was destroyed, it is not in the store's key ring, or
  /// the ring was lost. Values under other keys are not affected.
  public static let keyUnavailable = Self("keyUnavailable")
}

extension StorageError {
  /// Returns the error for encrypted values whose key ring is missing.
  package static func ringIsLost(location: String, key: KeyName? = nil) -> StorageError {
    StorageError(
      .keyUnavailable, "The store holds encrypted values and has no key ring: the key ring was lost.",
      advice: "Restore the store from a backup: of a store of files with the directory .coffer, of preferences with "
        + "that of the suite in .coffer-preferences. To give the values up, remove them. Nothing was changed.",
      location: location, key: key)
  }

  /// Returns the error for a value whose bytes are not what was stored under its key: they are an envelope that was not
  /// opened, or in the form of another program. Returns `nil` for any other.
  package static func otherForm(
    _ attributes: ValueAttributes, at location: @autoclosure () -> String, key: KeyName
  ) -> StorageError? {
    guard !attributes.isEmpty else { return nil }
    guard !attributes.isSealed else { return .isSealed(key, location: location()) }
    // A JSON object with a transaction id.
    guard attributes[.foreignJSON] != nil else { return nil }
    return StorageError(
      .foreignFormat, "An earlier version of Coffer has stored the value in the JSON of another program.",
      advice: "Read its bytes with entry(_:) of the engine or 'coffer get', and write the key again. It is unchanged.",
      location: location(), key: key)
  }

  /// Returns the error for a plain value in a store whose values are all encrypted.
  package static func takesOnlyEnvelopes(_ key: KeyName?, location: String) -> StorageError {
    StorageError(
      .keyUnavailable, "All values of the store are encrypted, and it was opened without its key.",
      advice: "Open it again with the key. Nothing was written.", location: location, key: key)
  }

  /// Returns the error for an envelope that is read without encryption.
  package static func isSealed(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .keyUnavailable, "The value is encrypted, and the store was opened without encryption or has lost its key ring.",
      advice: "Open the store with its key. If it has no key ring, restore it from a backup: of a store of files with "
        + "the directory .coffer. The value is unchanged.", location: location, key: key)
  }
}
