import Coffer
import CofferEncryption
import CofferTerminal

/// Implements `coffer rekey`, which changes the key or passphrase that opens an encrypted store.
func changeKey(_ invocation: Invocation) async throws -> ExitStatus {
  let new = try KeySources(invocation, .second)
  let (sources, location) = (try KeySources(invocation), try invocation.onlyLocation())
  let base = try await openStoredForm(of: location, sources.passphrases, creating: false)
  return try await closing(base) { base in
    // Before anybody is asked for a new passphrase.
    if base.isReadOnly, let obstacle = base.obstacle { throw obstacle }
    guard let ring = try await StoredKeyRingFacts(base) else {
      try await base.refuseLostRing()
      throw isNotEncrypted(base.description)
    }
    let store = try KeyRingStore(base, label: sources.label)
    let open = try await store.open(
      with: sources.source(for: ring, of: base.description), settings: EncryptionSettings(), ifMissing: .refuse)
    // A ring that somebody has put back must not be given the new key.
    guard open.ring.phase == .complete else {
      throw StorageError.isUnfinished(open.ring.phase, location: base.description)
    }
    let (changed, source): (OpenKeyRing, RootKeySource?)
    if let label = new.label, !new.areNamed {
      (changed, source) = (try await store.update(open) { $0.label = label }, nil)
    } else {
      let other = try new.source(for: nil, of: base.description)
      (changed, source) = (try await store.reseal(open, with: other, label: new.label), other)
    }
    // Free pages and the log have the ring under the old key.
    let isScrubbed = (try? await base.scrubFiles(upTo: EncryptedEngine.scrubbedSize)) ?? false
    let isPassphrase = try await StoredKeyRingFacts(base)?.needsPassphrase == true
    if invocation.has(.json) {
      try print(
        .object([
          ("store", .text(base.description)), ("key", .text(isPassphrase ? "passphrase" : "material")),
          ("label", .text(changed.ring.label)), ("generation", .number(changed.ring.generation)),
          ("scrubbed", .flag(isScrubbed)),
        ]))
    } else if let source {
      let key = isPassphrase ? "the new passphrase" : source.description
      try? Output.error.note(
        "The store is opened with \(key) from now on. Earlier copies and backups still open with the old one; if it "
          + "was exposed, run 'coffer rotate' as well."
          + (isScrubbed
            ? ""
            : " The files may still hold the key ring under it: run 'coffer rotate --scrub' with the same store and "
              + "the new key."))
    } else {
      try? Output.error.note(
        "The store has the label '\(changed.ring.label.oneLine())' from now on, and the same key. Backups keep the old "
          + "one."
      )
    }
    return .ok
  }
}
