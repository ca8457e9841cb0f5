import CofferCore
import Foundation

/// The updates of the anchor of an open store.
extension FreshnessGuard {
  /// Gives the store the next number, and then its anchor.
  ///
  /// The store is compared as when it is opened: an older copy that was put back meanwhile would receive the numbers
  /// after its own, and those that the anchor knows in the end.
  /// - Throws: `rolledBack` and, for an anchor that was removed, `notFound`, both before anything is written;
  ///   `notFound` also if the key ring is gone.
  func update(isReleased: Bool = false) async throws {
    // Read before the commit: whatever was committed before it is durable afterwards.
    let generation = knownGeneration
    // In the order of an opening, as other processes may advance all of them: the anchor before the store.
    let bytes = try await reader.bytes()
    let known = knownNumber
    for _ in 0..<Self.attempts {
      let (stored, ring) = try await present()
      guard let bytes else { throw StorageError.anchorIsGone(reader.description, location: base.description) }
      let anchored = try decodeOwn(bytes)
      do { try compare(stored, ring.generation, with: anchored, known: known) } catch {
        base.tellRollback(from: anchored, isLater: true)
        throw error
      }
      let sequence = (stored?.content.sequence ?? 0).successor
      let operations = [.requireRecord(.freshness, stored?.revision)] + ring.operations
      guard let commit = try await write(sequence, operations) else { continue }
      return try await reader.update { [self] present in
        // What an anchor knew that was removed meanwhile is not known.
        guard let present else { throw StorageError.anchorIsGone(reader.description, location: base.description) }
        let known = try decodeOwn(present)
        if known.sequence >= sequence, known.generation >= generation, !isReleased { return nil }
        var next = next(sequence, commit.revision, generation)
        next.isReleased = isReleased
        next.advance(to: known)
        return try next.encoded(under: keys.anchor)
      }
    }
    throw busy
  }

  /// Reads the record of the freshness, and the key ring after it, without which the record means nothing.
  private func present() async throws -> (Stored?, PresentRing) {
    let stored: Stored?
    do { stored = try await record() } catch {
      // The record may be that of another ring by now.
      _ = try await ringPrecondition()
      throw error
    }
    return (stored, try await ringPrecondition())
  }

  /// The key ring of this store as its records state it in plain.
  struct PresentRing {
    /// The preconditions that the store still has this ring.
    let operations: [WriteBatch.Operation]
    let generation: UInt64
  }

  /// Returns the precondition that the store still has its key ring. One record of another store may have been planted
  /// beside it.
  /// - Throws: `notFound` if another process has decrypted the store, so that a record would be that of no ring or of a
  ///   later one; `damaged`.
  func ringPrecondition() async throws -> PresentRing {
    guard let stored = try await StoredKeyRing.load(from: base),
      let own = stored.candidates.first(where: { $0.header.storeID == keys.storeID })
    else { throw StorageError.ringIsGone(location: base.description) }
    return PresentRing(operations: stored.revisions.operations, generation: own.header.generation)
  }

  /// Writes the record, so that it and everything before it is durable. Returns `nil` if a precondition failed.
  func write(_ sequence: UInt64, _ operations: [WriteBatch.Operation]) async throws -> StoreCommit? {
    let record = FreshnessRecord(sequence: sequence, date: base.clock.now())
    let content = try record.sealed(under: keys)
    do {
      let commit = try await base.commit(
        WriteBatch(operations + [.putRecord(.freshness, content)], durability: .full), from: origin)
      note(number: sequence)
      return commit
    } catch let error as StorageError where error.code == .preconditionFailed {
      return nil
    }
  }
}
