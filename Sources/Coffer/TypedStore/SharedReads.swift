import CofferCore
import CofferSQLite
import Foundation

/// Coalesces concurrent reads of the same key: a caller that arrives while a read is in flight shares its result.
///
/// A commit wakes all subscribers of a key at once. One of them reads and the others await that read, so each needs no
/// connection and little memory.
final class SharedReads: Sendable {
  typealias Reading = (entry: StoreEntry?, revision: StoreRevision)

  private let engine: any StorageEngine
  private let underWay = Locked<[KeyName: Task<Reading, any Error>]>([:])

  init(_ engine: any StorageEngine) { self.engine = engine }

  /// Returns the entry of a key and the revision of the snapshot it was read from, which is at least `revision`.
  func read(_ key: KeyName, notBefore revision: StoreRevision) async throws -> Reading {
    // A shared read may be waiting for the caller's snapshot to end, so awaiting it here could deadlock.
    if SQLiteEngine.isInsideSnapshot { return try await Self.read(key, engine) }
    // A store of secrets may ask the user, and a caller that is cancelled must not wait for the answer.
    if engine.capabilities.contains(.secrecy) { return try await Self.read(key, engine) }
    while true {
      try Task.checkCancellation()
      let reading = try await task(key).value
      // A read that began before the caller's change was committed may have seen an older state.
      if reading.revision >= revision { return reading }
    }
  }

  private func task(_ key: KeyName) -> Task<Reading, any Error> {
    underWay.withLock { underWay in
      if let task = underWay[key] { return task }
      let task = Task { [self] in
        defer { self.underWay.withLock { $0[key] = nil } }
        return try await Self.read(key, engine)
      }
      underWay[key] = task
      return task
    }
  }

  private static func read(_ key: KeyName, _ engine: any StorageEngine) async throws -> Reading {
    try await engine.withSnapshot { snapshot in
      (try await snapshot.entries([key]).first ?? nil, snapshot.revision)
    }
  }
}
