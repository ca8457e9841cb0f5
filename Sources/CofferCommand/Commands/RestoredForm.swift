import Coffer
import CofferEncryption
import CofferTerminal

/// How the values of a store are stored after its restoration.
enum RestoredForm: Sendable {
  /// Encrypted, under the key ring of the backup.
  /// - Parameter isChecked: whether the given key opens it.
  case encrypted(isChecked: Bool)
  /// In plain, as before, or in a store that is made for secrets.
  case unchanged
  /// In plain, where they were encrypted before.
  case decrypted
  /// In plain; the replaced store could not be read.
  case unknownBefore

  var isEncrypted: Bool { if case .encrypted = self { true } else { false } }

  /// A sentence after a space, or nothing.
  var sentence: String {
    switch self {
    case .encrypted(true): " The store is encrypted, and opens with the given key."
    case .encrypted(false):
      " The store is encrypted, and opens with the key that it had at the time of the backup; if it had another name "
        + "then, with its label of that time (--label)."
    case .unchanged: ""
    case .decrypted: " The store is in plain."
    case .unknownBefore: " The store is in plain; whether it was encrypted before is not known."
    }
  }
}

/// Returns the form of a store after its restoration. Changes nothing.
/// - Throws: `notEncrypted` if the backup has no key ring, and a key is given, or the store is encrypted or has to be
///   and `--decrypt` is not given; the errors of the key ring if the given key does not open it.
func restoredForm(
  of backup: String, for location: StoreLocation, _ sources: KeySources, _ invocation: Invocation
) async throws -> RestoredForm {
  guard location.isEncrypted || !location.keepsSecrets else { return .unchanged }
  // A damaged store is no obstacle to its restoration.
  let wasEncrypted: Bool? =
    if location.isEncrypted { true } else { await isEncrypted(location, sources.passphrases) }
  let mayBePlain = wasEncrypted != true || invocation.has(.decrypt)
  let hasRing: Bool
  do {
    hasRing = try await hasKeyRing(.sqlite(path: backup), sources.passphrases)
  } catch  where mayBePlain {
    return .unchanged  // The restoration reports it.
  }
  if hasRing {
    if sources.areNamed { try await sources.checkKey(ofBackup: backup, for: location) }
    return .encrypted(isChecked: sources.areNamed)
  }
  guard !sources.areNamed else { throw protectsNothing("The backup", "restored", location) }
  guard mayBePlain else {
    throw CommandError(
      .failure, StorageError.Code.notEncrypted.description,
      "The backup is not encrypted: all values of the store would be in plain.",
      advice: "Restore an encrypted backup; or add --decrypt for plain values, and encrypt them afterwards: "
        + "coffer encrypt STORE. Nothing was changed.",
      store: location.description)
  }
  switch wasEncrypted {
  case true?: return .decrypted
  case false?: return .unchanged
  case nil: return .unknownBefore
  }
}

/// Returns the error for a key that is given although the data has no key ring.
func protectsNothing(_ what: String, _ done: String, _ location: StoreLocation) -> CommandError {
  CommandError(
    .failure, StorageError.Code.notEncrypted.description, "\(what) is not encrypted, and a key was given.",
    advice: "Omit the key. Nothing was \(done).", store: location.description)
}

extension KeySources {
  /// Checks that the given key opens a backup, and will open it at its location. Changes nothing.
  /// - Throws: `wrongPassphrase`; `wrongLabel` for the backup of another store; the errors of the source.
  fileprivate func checkKey(ofBackup path: String, for location: StoreLocation) async throws {
    let label = standardLabel(of: location.unencrypted.canonical.description)
    let base = try await openStoredForm(of: .sqlite(path: path), passphrases, creating: false, access: .readOnly)
    try await closing(base) { engine in
      if let stored = try await StoredKeyRingFacts(engine) {
        _ = try await openRing(stored, of: engine, label: label)
      }
    }
  }
}

/// Returns whether a store is encrypted; `nil` if it cannot be read.
private func isEncrypted(_ location: StoreLocation, _ passphrases: Passphrases) async -> Bool? {
  do { return try await hasKeyRing(location, passphrases) } catch let error as CommandError
    where error.status == .notFound
  {
    return false
  } catch let error as StorageError where [.notFound, .notAStore, .foreignFormat].contains(error.code) {
    return false
  } catch {
    return nil
  }
}

/// Returns whether a store has a record of a key ring, whether or not that is intact. Changes nothing in it.
private func hasKeyRing(_ location: StoreLocation, _ passphrases: Passphrases) async throws -> Bool {
  let base = try await openStoredForm(of: location, passphrases, creating: false, access: .readOnly)
  return try await closing(base) { engine in
    for name in SystemRecord.Name.keyRings where try await engine.record(name) != nil {
      return true
    }
    return false
  }
}
