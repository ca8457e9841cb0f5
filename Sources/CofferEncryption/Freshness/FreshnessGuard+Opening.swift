import CofferCore
import Foundation

/// The comparison of a store with its anchor when it is opened, and its acceptance as it is.
extension FreshnessGuard {
  /// Refuses a store without a key ring where the anchor knows an encrypted one, before a new ring is created.
  /// - Parameter bytes: the record of the anchor.
  static func requireRing(_ base: any StorageEngine, _ bytes: Data, _ reader: AnchorReader) async throws {
    guard try await StoredKeyRing.load(from: base) == nil else { return }
    do {
      // Another process may have decrypted the store meanwhile.
      let bytes = try await reader.bytes() ?? bytes
      let anchored = try AnchorRecord(bytes)
      guard !anchored.isReleased, try await StoredKeyRing.load(from: base) == nil else { return }
      base.tellRollback(from: anchored)
      throw StorageError.replacedStore(
        "this one has no key ring", than: anchored, in: reader.description, location: base.description)
    } catch let error as StorageError {
      throw error.unconfirmed(reader.description, location: base.description)
    }
  }

  /// Compares the store with its anchor, which receives the store if it has none yet.
  /// - Parameters:
  ///   - bytes: the record of the anchor, as it was read before the key ring.
  ///   - open: the key ring.
  func check(_ bytes: Data?, _ open: OpenKeyRing, in store: KeyRingStore) async throws {
    do { try await check(bytes, open.ring) } catch let error as StorageError {
      guard error.code == .rolledBack || error.code == .notFound else { throw error }
      // Another process may have begun with the anchor or changed everything since the anchor was read.
      let bytes = try await reader.bytes()
      do { try await check(bytes, try await store.reload(open).ring) } catch let error as StorageError {
        if error.code == .rolledBack, let anchored = bytes.flatMap({ try? AnchorRecord($0) }) {
          base.tellRollback(from: anchored)
        }
        throw error
      }
    }
  }

  private func check(_ bytes: Data?, _ ring: KeyRing) async throws {
    let known = knownNumber
    let stored = try await record()
    guard let bytes else {
      guard stored == nil, known == 0 else {
        throw StorageError.anchorIsGone(reader.description, location: base.description)
      }
      return try await begin(after: nil)
    }
    let anchored = try decode(bytes)
    guard anchored.storeID == keys.storeID else {
      // Without its key, anybody can have written it: it is believed only by a store that was never anchored.
      guard anchored.isReleased, stored == nil, known == 0 else {
        throw StorageError.replacedStore(
          "this one has another identity", than: anchored, in: reader.description, location: base.description)
      }
      return try await begin(after: bytes)
    }
    try compare(stored, ring.generation, with: anchored, known: known)
    // What was committed by a process that ended before it could update the anchor.
    if base.latestRevision != anchored.revision || stored == nil { noteCommit(ring.generation) }
  }

  /// Anchors a store for the first time.
  ///
  /// The anchor comes first: a store with a record and without an anchor has lost it.
  private func begin(after bytes: Data?) async throws {
    guard !base.isReadOnly else { return }
    let first = try AnchorRecord(
      storeID: keys.storeID, sequence: 0, generation: 0, revision: base.latestRevision, date: base.clock.now()
    ).encoded(under: keys.anchor)
    try await reader.update { [self] present in
      if present == bytes { return first }
      // Another process was first.
      if let present { _ = try decodeOwn(present) }
      return nil
    }
    noteCommit(knownGeneration)
    try await anchor(nil)
  }

  /// Takes the store as it is, whatever the anchor says.
  /// - Throws: `newerFormat` for an anchor of a later version; `notFound` if the key ring is gone; `unavailable`;
  ///   `busy`.
  func accept() async throws {
    for _ in 0..<Self.attempts {
      let bytes = try await reader.bytes()
      let anchored = try bytes.flatMap(replaceable)
      // A damaged record is replaced.
      let known: Stored?
      var operations: [WriteBatch.Operation] = []
      do {
        known = try await record()
        operations.append(.requireRecord(.freshness, known?.revision))
      } catch let error as StorageError where error.code == .damaged { known = nil }
      operations += try await ringPrecondition().operations
      let sequence = max(known?.content.sequence ?? 0, anchored?.sequence ?? 0).successor
      guard let commit = try await write(sequence, operations) else { continue }
      let next = try next(sequence, commit.revision, knownGeneration).encoded(under: keys.anchor)
      // Another process may have anchored a larger number meanwhile, which must not be lowered.
      let isUnchanged = Locked(false)
      try await reader.update { present in
        isUnchanged.withLock { $0 = present == bytes }
        return present == bytes ? next : nil
      }
      if isUnchanged.withLock({ $0 }) { return }
    }
    throw busy
  }

  /// Decodes a record that accepting replaces; `nil` for one that is damaged or another store's.
  /// - Throws: `newerFormat`.
  private func replaceable(_ bytes: Data) throws -> AnchorRecord? {
    do { return try decodeOwn(bytes) } catch let error as StorageError where error.code != .newerFormat { return nil }
  }
}
