package import CofferCore
import Foundation

/// The key ring of a store, opened with its root key.
package struct OpenKeyRing: Sendable {
  package var ring: KeyRing
  package let root: RootKey
  /// The revisions of the ring's two records; `nil` for one that could not be read or repaired.
  package let revisions: Revisions

  package struct Revisions: Hashable, Sendable {
    let record, copy: StoreRevision?

    /// The preconditions that the records are as they were read.
    var operations: [WriteBatch.Operation] {
      (record.map { [.requireRecord(.keyRing, $0)] } ?? [])
        + (copy.map { [.requireRecord(.keyRingCopy, $0)] } ?? [])
    }
  }

  /// The precondition that the ring was not changed meanwhile, by which a commit never uses a key that another
  /// process has retired. A failed one means: call ``KeyRingStore/reload(_:)`` and repeat.
  package var precondition: [WriteBatch.Operation] { Array(revisions.operations.prefix(1)) }
}

/// The key ring of a store as it is kept there: in two identical system records, which are always written together.
///
/// If one is damaged, the other is used and, if the store can be written, repairs it; the store's events report the
/// damage (``StoreEvent/Kind/damaged(_:)``). Every write depends on the revisions that were read, so that processes
/// that change the ring at once agree on one.
package struct KeyRingStore: Sendable {
  /// The records that belong to a ring, and mean nothing without it or under another one.
  private static let companions: [SystemRecord.Name] = [.onlyEnvelopes, .rollback]
  /// The maximum number of attempts of a change when other writers commit first.
  private static let attempts = 64

  /// What happens if the store has no key ring.
  package enum Missing: Hashable, Sendable {
    /// An empty store receives a new ring, and one with values is an error, since these may be envelopes whose ring
    /// was lost.
    case create
    /// The store receives a new ring in the phase `encrypting`, although it may hold plain values.
    case createForPlainValues
    /// The store receives a new ring, although it holds plain values, which stay: only other keys are encrypted.
    case createBesidePlainValues
    /// It is an error.
    case refuse
  }

  package let engine: any StorageEngine
  /// The label of the store, which its ring must have.
  private let label: String
  private let origin = StoreOrigin()

  /// Creates the access to the key ring of an engine.
  /// - Parameter label: the label of the store; `nil` for the one that its location gives (``standardLabel(of:)``).
  /// - Throws: `unsupported` if the engine cannot keep one.
  package init(_ engine: any StorageEngine, label: String? = nil) throws {
    self.engine = engine
    self.label = label ?? standardLabel(of: engine.description)
    let needed: StoreCapabilities.Features =
      engine.isReadOnly ? .systemRecords : [.systemRecords, .atomicBatches, .preconditions, .revisions]
    guard engine.capabilities.contains(needed) else {
      throw StorageError.unsupported(
        "encryption, which needs system records and preconditions",
        advice: "Encrypt a store in one of the built-in engines.", location: engine.description)
    }
  }

  // MARK: Opening

  /// Returns what the key ring of a store says in plain, or `nil` if it has none: so it is not encrypted.
  ///
  /// Needs no key, and therefore verifies only the checksum of the records: somebody who can write the store can have
  /// written anything. It is authenticated when the ring is opened.
  /// - Throws: `damaged` if there are records and none is intact; `newerFormat`; the errors of the engine.
  package static func inspect(_ engine: any StorageEngine) async throws -> KeyRingHeader? {
    guard engine.capabilities.contains(.systemRecords) else { return nil }
    return try await StoredKeyRing.load(from: engine)?.candidates.first?.header
  }

  /// Opens the ring of the store, or creates one.
  /// - Parameters:
  ///   - settings: the manner of encryption of a new ring. An existing ring keeps its own.
  ///   - coverage: which values are encrypted, for a new ring.
  ///   - missing: what happens if there is no ring.
  ///   - root: returns the root key for the derivation that the ring states, or for a new one of its choice if there
  ///     is no ring yet (`nil`). Called again if another process creates a ring at the same time.
  /// - Throws: `wrongPassphrase` for another root key, `wrongLabel` for another label, `damaged` if neither record is
  ///   intact, `newerFormat`, `keyUnavailable` for a store with values and no ring, `notFound` for a missing one
  ///   otherwise, and what `root` throws. The store is unchanged then.
  package func open(
    settings: EncryptionSettings, coverage: KeyRing.Coverage = .all, ifMissing missing: Missing = .create,
    root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> OpenKeyRing {
    for _ in 0..<Self.attempts {
      if let stored = try await StoredKeyRing.load(from: engine) {
        if let open = try await open(stored, label, root: root) { return open }
      } else if try await mayCreate(missing) {
        let phase: KeyRing.Phase = missing == .createForPlainValues ? .encrypting : .complete
        if let open = try await create(settings, coverage, phase, under: await root(nil)) { return open }
      }
    }
    throw busy
  }

  /// Opens the ring of the store with the key of a source, or creates one.
  /// - Throws: also the errors of ``RootKeyReader/rootKey(for:)``.
  package func open(
    with source: RootKeySource, settings: EncryptionSettings, ifMissing missing: Missing = .create
  ) async throws -> OpenKeyRing {
    let reader = RootKeyReader(source)
    return try await open(settings: settings, ifMissing: missing) { try await reader.rootKey(for: $0) }
  }

  /// Seals the ring under the root key of another source, and another label if one is given. Values are not touched.
  ///
  /// Afterwards the previous root key opens nothing any more, except for an earlier copy of the store and, with the
  /// data keys in it, whatever these data keys encrypt: rotate them too if the previous root key was disclosed.
  /// - Throws: the errors of the source and of ``update(_:under:with:_:)``. The previous root key is valid then, unless
  ///   the code is `outcomeUnknown`.
  package func reseal(
    _ open: OpenKeyRing, with source: RootKeySource, label: String? = nil
  ) async throws -> OpenKeyRing {
    do {
      let root = try await RootKeyReader(source).rootKey(for: nil)
      return try await update(open, under: root) { if let label { $0.label = label } }
    } catch let error as StorageError {
      throw error.locating(at: engine.description)
    }
  }

  /// Reads the ring again, as after a failed ``OpenKeyRing/precondition``.
  /// - Throws: `wrongPassphrase` if the root key was changed meanwhile, `wrongLabel` if the label was, `notFound` if
  ///   the store is no longer encrypted.
  package func reload(_ open: OpenKeyRing) async throws -> OpenKeyRing {
    for _ in 0..<Self.attempts {
      guard let stored = try await StoredKeyRing.load(from: engine) else {
        throw StorageError.ringIsGone(location: engine.description)
      }
      do {
        if let open = try await self.open(stored, open.ring.label, root: { _ in open.root }) { return open }
      } catch let error as StorageError where error.code == .wrongPassphrase {
        throw StorageError(
          .wrongPassphrase, "The root key of the store was changed while it was open.",
          advice: "Open the store again with the new key or passphrase. Nothing was changed.",
          location: engine.description)
      } catch let error as StorageError
        where error.code == .wrongLabel && stored.candidates.first?.header.storeID == open.ring.storeID
      {
        // Of another store, the error stays as it is.
        throw StorageError(
          .wrongLabel, "\(error.message) The label was changed while the store was open.",
          advice: "Open the store again with the new label (EncryptedEngine.Configuration.label). Nothing was changed.",
          location: engine.description)
      }
    }
    throw busy
  }

  /// Opens a stored ring with its root key and repairs its damaged record. Returns `nil` if another writer has changed
  /// the ring meanwhile.
  private func open(
    _ stored: StoredKeyRing, _ label: String, root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> OpenKeyRing? {
    var failure: StorageError?
    for candidate in stored.candidates {
      do {
        let key = try await root(candidate.header.derivation)
        let ring = try KeyRing.open(candidate.content, root: key)
        guard ring.label.utf8.elementsEqual(label.utf8) else { throw StorageError.isLabelled(ring.label, not: label) }
        guard let revisions = try await repair(stored, with: candidate) else { return nil }
        return OpenKeyRing(ring: ring, root: key, revisions: revisions)
      } catch let error as StorageError {
        // A record that was planted beside an intact one can state anything.
        guard [.damaged, .wrongPassphrase, .wrongLabel, .unsupported].contains(error.code) else {
          throw error.locating(at: engine.description)
        }
        failure = failure ?? error
      }
    }
    throw (failure ?? KeyRingHeader.damaged).locating(at: engine.description)
  }

  /// Replaces the records that differ from an intact one. A store that cannot be written stays as it is.
  /// - Returns: the revisions afterwards; `nil` if another writer has changed the ring meanwhile.
  private func repair(
    _ stored: StoredKeyRing, with intact: StoredKeyRing.Candidate
  ) async throws -> OpenKeyRing.Revisions? {
    guard let name = stored.differing(from: intact) else { return stored.revisions }
    engine.events?.emit(
      StoreEvent(
        location: engine.description,
        .damaged(
          DamageReport(key: nil, revision: .zero, size: nil, location: engine.description, isCopyUsed: true))))
    // The unread revision of a damaged record must not be a precondition.
    let known = OpenKeyRing.Revisions(
      record: name == .keyRing ? nil : stored.revisions.record,
      copy: name == .keyRingCopy ? nil : stored.revisions.copy)
    guard !engine.isReadOnly else { return known }
    do {
      let commit = try await engine.commit(
        WriteBatch(stored.revisions.operations + [.putRecord(name, intact.content)]), from: origin)
      return OpenKeyRing.Revisions(
        record: name == .keyRing ? commit.revision : known.record,
        copy: name == .keyRingCopy ? commit.revision : known.copy)
    } catch let error as StorageError {
      return error.code == .preconditionFailed ? nil : known
    }
  }

  // MARK: Creating

  /// Returns `false` if another process has created the ring since it was looked for.
  private func mayCreate(_ missing: Missing) async throws -> Bool {
    do {
      try await checkCreation(missing)
      return true
    } catch {
      guard try await StoredKeyRing.load(from: engine) != nil else { throw error }
      return false
    }
  }

  private func checkCreation(_ missing: Missing) async throws {
    guard missing != .refuse else {
      throw StorageError(
        .notFound, "The store has no key ring: it is not encrypted, or its key ring was lost.",
        advice: "Open it without encryption, or restore it from a backup. Nothing was changed.",
        location: engine.description)
    }
    if missing == .createForPlainValues { try await engine.refuseLostRing() }
    if missing == .create {
      let isEmpty = try await engine.withSnapshot {
        try await $0.summaries(prefix: nil, after: nil, limit: 1).isEmpty
      }
      guard isEmpty else {
        try await engine.refuseLostRing()
        throw StorageError(
          .keyUnavailable,
          "The store holds values and has no key ring: they are plain, or encrypted and the ring was lost.",
          advice: "Encrypt plain values with EncryptedEngine.encrypt; otherwise restore it from a backup, a store of "
            + "files with its directory .coffer. Nothing was changed.", location: engine.description)
      }
    }
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The store has no key ring, and none can be created since it is open for reading only.",
        advice: "Open it for writing once. Nothing was changed.", location: engine.description)
    }
  }

  /// Creates a ring. Returns `nil` if another process was first.
  private func create(
    _ settings: EncryptionSettings, _ coverage: KeyRing.Coverage, _ phase: KeyRing.Phase, under root: RootKey
  ) async throws -> OpenKeyRing? {
    var ring = try KeyRing.create(settings: settings, coverage: coverage, label: label, now: engine.clock.now())
    ring.phase = phase
    // What a process of an earlier ring, or one that was killed, has left.
    let removal = Self.companions.map { WriteBatch.Operation.deleteRecord($0) }
    let operations = [.requireRecord(.keyRing, nil), .requireRecord(.keyRingCopy, nil)] + removal
    return try await write(ring, under: root, operations)
  }

  // MARK: Changing

  /// Changes the ring, and repeats the change on the newest ring if another process was first.
  /// - Parameters:
  ///   - open: the ring as it was read.
  ///   - newRoot: the root key that seals the changed ring; the present one by default. Afterwards the present one
  ///     opens nothing any more.
  ///   - operations: returns further operations of the same commit. Called again for each attempt.
  ///   - refusesOlder: whether a ring of an earlier generation than `open` is an error, and not changed.
  ///   - change: changes the ring. Called again for each attempt.
  /// - Throws: what `change` and the engine throw; `rolledBack`; `busy` if other writers were first each time.
  package func update(
    _ open: OpenKeyRing, under newRoot: RootKey? = nil,
    with operations: () async throws -> [WriteBatch.Operation] = { [] },
    refusingOlder refusesOlder: Bool = false, _ change: (inout KeyRing) throws -> Void
  ) async throws -> OpenKeyRing {
    var open = open
    for _ in 0..<Self.attempts {
      var ring = open.ring
      try located { try change(&ring) }
      let operations = open.revisions.operations + (try await operations())
      if let next = try await write(ring, under: newRoot ?? open.root, operations) { return next }
      let known = open.ring.generation
      open = try await reload(open)
      if refusesOlder, open.ring.generation < known {
        throw StorageError.ringIsOlder(open.ring.generation, than: known, location: engine.description)
      }
    }
    throw busy
  }

  /// Removes the ring, at the end of decrypting a store.
  /// - Returns: `false` if the ring was changed meanwhile, and was not removed.
  package func remove(_ open: OpenKeyRing, with operations: [WriteBatch.Operation] = []) async throws -> Bool {
    let removal = (SystemRecord.Name.keyRings + Self.companions).map { WriteBatch.Operation.deleteRecord($0) }
    do {
      try await engine.commit(WriteBatch(open.revisions.operations + operations + removal), from: origin)
      return true
    } catch let error as StorageError where error.code == .preconditionFailed {
      return false
    }
  }

  /// Writes both records. Returns `nil` if a precondition failed.
  private func write(
    _ ring: KeyRing, under root: RootKey, _ operations: [WriteBatch.Operation]
  ) async throws -> OpenKeyRing? {
    let content = try located { try ring.sealed(under: root) }
    let isWhole = ring.coverage == .all && ring.phase != .decrypting
    let writes: [WriteBatch.Operation] = [
      .putRecord(.keyRing, content), .putRecord(.keyRingCopy, content),
      isWhole ? .putRecord(.onlyEnvelopes, Data()) : .deleteRecord(.onlyEnvelopes),
    ]
    do {
      let commit = try await engine.commit(WriteBatch(operations + writes), from: origin)
      var ring = ring
      ring.generation = ring.nextGeneration
      return OpenKeyRing(
        ring: ring, root: root,
        revisions: OpenKeyRing.Revisions(record: commit.revision, copy: commit.revision))
    } catch let error as StorageError where error.code == .preconditionFailed {
      return nil
    }
  }

  // MARK: Errors

  private func located<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as StorageError { throw error.locating(at: engine.description) }
  }

  private var busy: StorageError {
    StorageError(
      .busy, "Other processes keep changing the key ring of the store.", advice: "Try again. Nothing was changed.",
      location: engine.description)
  }
}
