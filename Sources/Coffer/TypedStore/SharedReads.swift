import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// Reads of keys that many subscribers want at the same moment: whoever comes while one is under way takes its result.
///
/// A change wakes all subscribers of a key at once. One of them reads; the others wait for that read, which costs each
/// of them no connection and next to no memory.
final class SharedReads: Sendable {
  typealias Reading = (entry: StoreEntry?, revision: StoreRevision)

  private let engine: any StorageEngine
  private let underWay = Locked<[StoreKey: Task<Reading, any Error>]>([:])

  init(_ engine: any StorageEngine) { self.engine = engine }

  /// The entry of a key and the state that it was read from, which has at least that revision.
  func read(_ key: StoreKey, notBefore revision: StoreRevision) async throws -> Reading {
    // Inside of a snapshot a read that others have begun may wait for that snapshot to end.
    if SQLiteEngine.isInsideSnapshot { return try await Self.read(key, engine) }
    while true {
      try Task.checkCancellation()
      let reading = try await task(key).value
      // One that was begun before the change that the caller has heard of may have read an older state.
      if reading.revision >= revision { return reading }
    }
  }

  private func task(_ key: StoreKey) -> Task<Reading, any Error> {
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

  private static func read(_ key: StoreKey, _ engine: any StorageEngine) async throws -> Reading {
    try await engine.withSnapshot { snapshot in
      (try await snapshot.entries([key]).first ?? nil, snapshot.revision)
    }
  }
}
