/// The kept old forms of migrated values: each is stored beside its value, under the value's key and a reserved ending.
///
/// An engine treats them like values, so that they are encrypted, backed up and cleared with theirs, and expire with
/// them. Listings leave them out; a read of one key returns them.
package enum KeptForms {
  /// The reserved ending.
  package static let suffix = ".coffer-old-form"

  /// Whether a key is that of a kept form.
  package static func contains(_ key: StoreKey) -> Bool {
    key.withBytes { bytes in
      let size = suffix.utf8.count
      // Most keys end otherwise.
      guard bytes.count > size, bytes[bytes.count - 1] == 0x6D else { return false }
      return bytes.suffix(size).elementsEqual(suffix.utf8)
    }
  }

  /// Returns the key of the kept form of a value; `nil` if the key is too long for one, which then keeps none.
  package static func key(of key: StoreKey) -> StoreKey? { try? StoreKey(key.string + suffix) }

  /// Returns the key of the value that a kept form belongs to; `nil` for the key of a value.
  package static func owner(of key: StoreKey) -> StoreKey? {
    contains(key) ? try? StoreKey(String(key.string.dropLast(suffix.count))) : nil
  }
}

/// A snapshot whose listings leave out kept forms, and which can list them as well.
package protocol KeptFormSnapshot: StorageSnapshot {
  /// The same state with its kept forms.
  var withKeptForms: any StorageSnapshot { get }
}

extension StorageSnapshot {
  /// The same state whose listings have the kept forms of migrated values, as a decorator needs it.
  package var listingKeptForms: any StorageSnapshot { (self as? any KeptFormSnapshot)?.withKeptForms ?? self }
}
