import Coffer
import CofferEncryption
import CofferTerminal

/// What a command needs the key of an encrypted store for.
enum KeyNeed: Sendable {
  /// Everything: the command always needs the key.
  case everything
  /// The names of the keys, which need it only if they are hidden. A key that is given is checked.
  case names
  /// Nothing: the key is used if an option or systemd provides it.
  case ifGiven
  /// As `ifGiven`, and the store is only read: neither is its key ring repaired nor an erasure continued.
  case inspection
  /// The values that a copy writes, which need it if the store encrypts all of them.
  case target
  /// The values of keys, which need it if they are encrypted. A store whose values all are needs it in any case.
  case values([KeyName])
  /// The values that are removed, also of a store whose encryption or decryption is unfinished: nothing is stored in
  /// plain, and a value that keeps either from being finished can be removed.
  case removal
}

/// The opening of a store that may be encrypted.
struct EncryptedOpening {
  private let location: StoreLocation
  private let sources: KeySources
  private let isCreating: Bool
  /// Whether a store without encryption is refused, since a value that has to be protected would be in plain there.
  private let requiresRing: Bool
  private let settings: EncryptionSettings
  private let anchor: AnchorFile?
  /// The key of a store that is created; it is read before, so that no plain store is left behind if it is missing.
  private var newKey: RootKeyReader?

  init(
    _ location: StoreLocation, _ sources: KeySources, isCreating: Bool, requiresRing: Bool,
    _ settings: EncryptionSettings, _ anchor: AnchorFile?
  ) {
    self.location = location
    self.sources = sources
    self.isCreating = isCreating
    self.requiresRing = requiresRing
    self.settings = settings
    self.anchor = anchor
  }

  /// Reads the key of a store that will be created, and refuses a new one that would not be encrypted.
  mutating func prepare() async throws {
    if anchor != nil, location.keepsSecrets, !location.isEncrypted {
      throw Command.mistake(
        "\(Option.anchorFile.name) is for stores that have a key ring, as 'coffer encrypt' makes it.")
    }
    let refusesPlain = requiresRing && !location.keepsSecrets
    guard isCreating, location.isEncrypted || refusesPlain, try location.unencrypted.isMissing() else { return }
    guard location.isEncrypted else { throw doesNotProtect(location.description) }
    let reader = RootKeyReader(try sources.source(for: nil, of: location.unencrypted.description))
    _ = try await reader.rootKey(for: nil)
    newKey = reader
  }

  /// Returns the engine for a store that is open in its stored form.
  func open(_ base: any StorageEngine, for need: KeyNeed) async throws -> any StorageEngine {
    guard !location.keepsSecrets || location.isEncrypted else { return base }
    guard let ring = try await StoredKeyRingFacts(base) else {
      // The anchor tells whether there was one.
      if anchor != nil, !isCreating { return try await encrypted(base, ifMissing: .refuse, nil) }
      // An envelope shows that the ring was lost. What writes looks at one page only.
      if isCreating || location.isEncrypted || requiresRing {
        if isCreating { try await base.refuseLostRingOnFirstPage() } else { try await base.refuseLostRing() }
      }
      guard location.isEncrypted || !requiresRing else { throw doesNotProtect(base.description) }
      guard location.isEncrypted else { return base }
      guard isCreating else { throw isPlain(base) }
      return try await encrypted(base, ifMissing: .create, nil)
    }
    guard try await needsKey(base, ring, need) else {
      if case .values = need, requiresRing { throw staysPlain(base.description) }
      return KeylessEngine(base, ring, sources)
    }
    let base: any StorageEngine = if case .inspection = need { ReadOnlyEngine(base) } else { base }
    do { return try await encrypted(base, ifMissing: .refuse, ring) } catch let error as StorageError
      where error.code == .encryptionUnfinished
    {
      guard case .removal = need else { throw error }
      return KeylessEngine(base, ring, sources)
    }
  }

  private func encrypted(
    _ base: any StorageEngine, ifMissing missing: KeyRingStore.Missing, _ ring: StoredKeyRingFacts?
  ) async throws -> EncryptedEngine {
    let reader = try newKey ?? RootKeyReader(sources.source(for: ring, of: base.description))
    var configuration = EncryptedEngine.Configuration(settings: settings)
    configuration.acceptsDeclared = true
    configuration.label = sources.label
    configuration.rollbackProtection = try anchor?.settings(mayCreate: missing == .create, of: base.description)
    do {
      return try await EncryptedEngine.open(base, ifMissing: missing, configuration: configuration) {
        try await reader.rootKey(for: $0)
      }
    } catch let error as StorageError {
      guard let anchor, anchor.accepts(error), ring != nil else { throw error }
      let engine = try await EncryptedEngine.open(base, configuration: configuration, acceptingRollback: true) {
        try await reader.rootKey(for: $0)
      }
      anchor.accept(error)
      return engine
    }
  }

  private func needsKey(
    _ base: any StorageEngine, _ ring: StoredKeyRingFacts, _ need: KeyNeed
  ) async throws -> Bool {
    // An anchor cannot be compared without the key.
    if anchor != nil { return true }
    switch need {
    case .everything: return true
    case .ifGiven, .inspection: return sources.areGiven(for: ring)
    case .target: return ring.coversAll || sources.areGiven(for: ring)
    case .names:
      // What a page of a listing shows is not enough: until an encryption is finished, few names may be hidden.
      if sources.areGiven(for: ring) { return try await sources.openRing(ring, of: base).settings.hidesNames }
      guard ring.coversAll else { return false }
      return try await base.hidesNames()
    case .removal: return ring.coversAll
    case .values(let keys):
      guard !ring.coversAll else { return true }
      for key in keys {
        do { if try await base.summary(of: key)?.isEncrypted == true { return true } } catch let error as StorageError
          where error.code == .damaged
        {
          continue  // The command itself reports it.
        }
      }
      return false
    }
  }

  private func doesNotProtect(_ store: String) -> CommandError {
    CommandError(
      .failure, StorageError.Code.notEncrypted.description, "The store is not encrypted.",
      advice:
        "Write encrypted:STORE for a new store, encrypt this one first (coffer encrypt STORE), or omit the option "
        + "that asks for it. Nothing was written.",
      store: store)
  }

  /// Returns the error for a value of a store of which only some are encrypted, if it is none of them.
  private func staysPlain(_ store: String) -> CommandError {
    CommandError(
      .failure, StorageError.Code.notEncrypted.description, "The value would be stored in plain, and a key was given.",
      advice: "Add --encrypted, or omit the key. Nothing was written.", store: store)
  }

  private func isPlain(_ base: any StorageEngine) -> CommandError {
    CommandError(
      .failure, StorageError.Code.notEncrypted.description, "The store is not encrypted.",
      advice: "Omit 'encrypted:', or encrypt it: coffer encrypt STORE.", store: base.description)
  }
}

extension StorageEngine {
  /// Whether the store holds hashes instead of names. Reads one page of a listing.
  fileprivate func hidesNames() async throws -> Bool {
    try await withSnapshot { snapshot in
      try await Listing<StoreEntry.Summary>.page(of: snapshot, prefix: nil, after: nil).contains { item in
        if case .found(let summary) = item { summary.attributes.hasSealedName } else { false }
      }
    }
  }
}

extension StoreLocation {
  /// Whether there is no store yet, as far as it can be determined.
  fileprivate func isMissing() throws -> Bool {
    if case .memory = self { return true }
    return try !expandingTilde.exists()
  }
}
