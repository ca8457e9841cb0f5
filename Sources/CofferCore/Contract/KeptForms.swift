/// The kept old forms of migrated values: each is stored beside its value, under the value's key and a reserved ending.
///
/// An engine treats them like values, so that they are encrypted, backed up and cleared with theirs, and expire with
/// them. Listings leave them out; a read of one key returns them. A commit that replaces or removes a value removes its
/// kept form, unless the batch says itself what becomes of it.
package enum KeptForms {
  /// The record of a store in which a form was ever kept, which each commit with one writes. Without it, no commit
  /// looks for any.
  package static let record = SystemRecordName("kept-forms" as StoreKey)

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

extension WriteBatch {
  /// The keys of the forms that are no longer those of their values after the batch.
  package var outdatedForms: [StoreKey] { keepsForms ? [] : KeptForms.outdated(by: operations) }
}

extension KeptForms {
  /// Returns the keys of the forms whose values a batch replaces or removes, except those that it writes itself.
  package static func outdated(by operations: [WriteBatch.Operation]) -> [StoreKey] {
    var (forms, own): ([StoreKey], Set<StoreKey>) = ([], [])
    for operation in operations {
      switch operation {
      case .put(let key, _, _), .delete(let key):
        if contains(key) { own.insert(key) } else if let form = Self.key(of: key) { forms.append(form) }
      case .clear, .require, .putRecord, .deleteRecord, .requireRecord: break
      }
    }
    return own.isEmpty ? forms : forms.filter { !own.contains($0) }
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
