public import CofferCore

extension StorageError.Code {
  /// A value is stored in plain where only encrypted ones are accepted. It is intact, and stays as it is.
  public static let notEncrypted = Self("notEncrypted")

  /// The key opens the store, whose key ring has another label: it was renamed, or is another store in its place.
  public static let wrongLabel = Self("wrongLabel")

  /// The encryption or decryption of a store was begun and is not finished, or somebody has put back the key ring of
  /// such a time. The store is not used, since it holds plain values beside encrypted ones.
  public static let encryptionUnfinished = Self("encryptionUnfinished")
}

extension StorageError {
  /// Returns the error for an envelope that does not open under the key that it names.
  static func doesNotOpen(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .damaged, "The encrypted value does not open: it or its attributes were changed, or it is another key's.",
      advice: "Other values are not affected. Restore it from a backup, or write it again.", location: location,
      key: key)
  }

  /// Returns the error for a plain value where only encrypted ones may be.
  static func isPlain(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .notEncrypted, "The value is stored in plain, although it must be encrypted.",
      advice: "It is not returned, since anybody may have written it. If it dates from before the encryption, read it "
        + "through a store without it, and write it again.",
      location: location, key: key)
  }

  /// Returns the error for a store that is being encrypted or decrypted.
  package static func isUnfinished(_ phase: KeyRing.Phase, location: String) -> StorageError {
    let isDecryption = phase == .decrypting
    let finish =
      isDecryption
      ? "encrypt the store again with EncryptedEngine.encrypt, or finish it with EncryptedEngine.decrypt."
      : "finish it with EncryptedEngine.encrypt."
    return StorageError(
      .encryptionUnfinished, "The \(isDecryption ? "decryption" : "encryption") of the store is not finished.",
      advice: "If you or your program began it, \(finish) Otherwise somebody has put back an older key ring: restore "
        + "the store from a backup. No value was read or written.", location: location)
  }

  /// Returns the error for a store that is opened as if all its values were encrypted.
  static func isDeclared(_ location: String) -> StorageError {
    StorageError(
      .unsupported, "Only the values of declared keys are encrypted in this store, and none are declared.",
      advice:
        "Declare them (EncryptedEngine.Configuration.isEncrypted; in a router SecurityPolicy.encrypted), or encrypt "
        + "all values with EncryptedEngine.encrypt. Nothing was changed.", location: location)
  }

  /// Returns the error for a key ring that is intact and has another label than the store.
  static func isLabelled(_ found: String, not label: String) -> StorageError {
    func shown(_ label: String) -> String { "the label '\(label.escapingControlCharacters)'" }
    return StorageError(
      .wrongLabel, "The key ring of the store has \(shown(found)), not \(shown(label)).",
      advice: "If you have moved, renamed or copied it, open it with the label that the key ring has "
        + "(EncryptedEngine.Configuration.label). Otherwise somebody has put another store in place of this one: "
        + "restore it from a backup. No value was read or changed.")
  }

  /// Returns the error for a value that was sealed by a later version.
  static func newerEnvelope(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .newerFormat, "A newer version of the library encrypted the value.",
      advice: "Update the program. Nothing was changed.", location: location, key: key)
  }

  /// Returns the error for a store that was encrypted when it was opened.
  static func ringIsGone(location: String) -> StorageError {
    StorageError(
      .notFound, "The key ring of the store was removed by another process: the store is no longer encrypted.",
      advice: "Open the store again. Nothing was changed.", location: location)
  }

  /// Returns the error for a stored name that does not open, for a listing.
  static func nameDoesNotOpen(location: String) -> StorageError {
    StorageError(
      .damaged, "The hidden name of a value does not open, so the values cannot be listed by their names.",
      advice: "Values can still be read and written by their names. Restore the store from a backup.",
      location: location)
  }

  /// Returns the error for a caller's write to a record that belongs to the encryption.
  static func reserved(_ name: SystemRecord.Name, location: String) -> StorageError {
    StorageError.unsupported(
      "writing the system record '\(name)' of its encryption", advice: "Use another name. Nothing was written.",
      location: location)
  }

  /// Returns a copy that names keys as callers do: `names` returns the name of a stored key.
  func renaming(_ names: (KeyName) -> KeyName?) -> StorageError {
    guard let key, let name = names(key), name != key else { return self }
    let shown = name.string.escapingControlCharacters
    return StorageError(
      code, message.replacing(key.string, with: shown), advice: advice.replacing(key.string, with: shown),
      location: location, key: name,
      underlying: underlying.map {
        Underlying(domain: $0.domain, code: $0.code, text: $0.text.replacing(key.string, with: shown))
      })
  }
}
