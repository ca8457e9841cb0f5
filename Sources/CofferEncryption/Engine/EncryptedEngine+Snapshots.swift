public import CofferCore
import Foundation

/// Each snapshot has the state of the key ring at its own revision, which opens all of its values: the keys that a
/// rotation removes meanwhile are kept for it.
extension EncryptedEngine {
  /// The number of snapshots that are taken while other processes change the key ring.
  private static let attempts = 64

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await repeating {
      try await base.withSnapshot { snapshot in
        guard let cipher = try await ciphers.state(at: snapshot.revision) else { return nil }
        return try await body(EncryptedSnapshot(snapshot, of: self, under: cipher, at: clock.now()))
      }
    }
  }

  /// Calls `attempt` until it returns a result; it returns `nil` if the key ring was changed right after a snapshot.
  private func repeating<R>(_ attempt: () async throws -> R?) async throws -> R {
    for _ in 0..<Self.attempts {
      if let result = try await attempt() { return result }
    }
    throw StorageError(
      .busy, "Other processes keep changing the key ring of the store.", advice: "Try again. Nothing was changed.",
      location: description)
  }

  /// Returns the index of a snapshot of the base.
  /// - Parameter withExpired: whether the snapshot has expired values as well.
  func nameIndex(
    of snapshot: any StorageSnapshot, under cipher: StoreCipher, at date: Date, withExpired: Bool
  ) async throws -> NameIndex {
    let indexer = withExpired ? NameIndexer(base) : indexer
    return try await indexer.index(of: snapshot, at: date) { summary in
      let name = try cipher.name(of: summary.key, summary.attributes)
      return NameIndex.Entry(summary, cipher.summary(summary, of: name))
    } knownName: {
      cipher.names?.knownName(of: $0)
    }
  }
}

extension EncryptedEngine: ExpiringEngine {
  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    var engine = base
    while !(engine is any ExpiringEngine), let decorator = engine as? any EngineDecorator { engine = decorator.base }
    guard let expiring = engine as? any ExpiringEngine else { return try await withSnapshot(body) }
    return try await repeating {
      try await expiring.withStoredSnapshot { snapshot in
        guard let cipher = try await ciphers.state(at: snapshot.revision) else { return nil }
        return try await body(
          EncryptedSnapshot(snapshot, of: self, under: cipher, at: .distantPast, withExpired: true))
      }
    }
  }
}
