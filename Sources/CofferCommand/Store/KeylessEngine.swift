import Coffer
import CofferEncryption
import CofferTerminal

/// An encrypted store that was opened without its key: names and plain values can be read, encrypted values cannot.
///
/// Listings have the sizes of the values as far as they are known: a padded value is shown as its bucket.
final class KeylessEngine: EngineDecorator {
  let base: any StorageEngine
  let ring: StoredKeyRingFacts
  private let sources: KeySources
  private static let attempts = 100

  init(_ base: any StorageEngine, _ ring: StoredKeyRingFacts, _ sources: KeySources) {
    self.base = base
    self.ring = ring
    self.sources = sources
  }

  /// Returns the error for an encrypted value.
  func refusal(of key: KeyName) -> StorageError { sources.missing(for: key, ring, base.description) }

  func entry(_ key: KeyName) async throws -> StoreEntry? { try await entries([key])[0] }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let entries = try await base.entries(keys)
    if let sealed = entries.lazy.compactMap(\.self).first(where: \.attributes.isSealed) {
      throw refusal(of: sealed.key)
    }
    return entries
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key)?.withPlainSize }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await base.withSnapshot { try await body(KeylessSnapshot(base: $0)) }
  }

  /// Commits plain values, unless one of them replaces an encrypted one, or all values have to be encrypted by now.
  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let puts = batch.operations.compactMap { if case .put(let key, _, _) = $0 { key } else { nil } }
    guard !puts.isEmpty else { return try await base.commit(batch, from: origin) }
    // Preconditions of the caller fail for good, so the caller repeats.
    let isRepeated = !batch.operations.contains(where: \.isPrecondition)
    var attempts = 0
    while true {
      let requirements = try await requirements(of: puts)
      let guarded = WriteBatch(
        requirements + batch.operations, transaction: batch.transaction, durability: batch.durability)
      do { return try await base.commit(guarded, from: origin) } catch let error as StorageError
        where error.code == .preconditionFailed && isRepeated && attempts < Self.attempts
      {
        attempts += 1
      }
    }
  }

  /// Returns the preconditions under which values may be stored in plain.
  private func requirements(of puts: [KeyName]) async throws -> [WriteBatch.Operation] {
    let present = try await StoredKeyRingFacts(base)
    var requirements: [WriteBatch.Operation] = []
    if present == nil || present?.revision != nil {
      requirements.append(.requireRecord(.keyRing, present?.revision))
    }
    for key in puts {
      let summary = try await base.summary(of: key)
      if present?.coversAll == true || summary?.isEncrypted == true {
        throw sources.missing(for: key, present ?? ring, base.description)
      }
      requirements.append(.require(key, summary?.revision))
    }
    return requirements
  }
}

/// A snapshot whose summaries have the sizes of values, and whose entries are as they are stored.
private struct KeylessSnapshot: StorageSnapshot {
  let base: any StorageSnapshot

  var revision: StoreRevision { base.revision }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await base.entries(keys) }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key)?.withPlainSize }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await base.page(prefix: prefix, after: after, limit: limit)
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await base.summaries(prefix: prefix, after: after, limit: limit).map(\.withPlainSize)
  }
}

extension WriteBatch.Operation {
  fileprivate var isPrecondition: Bool {
    switch self {
    case .require, .requireRecord: true
    default: false
    }
  }
}

extension StoreEntry.Summary {
  /// Whether the value is encrypted.
  var isEncrypted: Bool { attributes.isMarked }

  /// The summary with the size of the value instead of that of its envelope; a padded value has its padding.
  fileprivate var withPlainSize: StoreEntry.Summary {
    guard isEncrypted else { return self }
    return StoreEntry.Summary(
      key: key, size: size.map { max(0, $0 - Envelope.overhead) }, revision: revision, date: date,
      attributes: attributes)
  }
}
