public import CofferCore
import Foundation

extension EncryptedEngine {
  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try check(batch)
    while true {
      let cipher = cipher
      do { return try await commit(batch, under: cipher, from: origin) } catch let error as StorageError
        where error.code == .preconditionFailed
      {
        guard try await ciphers.reload(after: cipher) !== cipher else { throw error }
      }
    }
  }

  /// Commits a checked batch under one state of the key ring.
  /// - Throws: `preconditionFailed` also if the ring was changed.
  func commit(_ batch: WriteBatch, under cipher: StoreCipher, from origin: StoreOrigin) async throws -> StoreCommit {
    do {
      let sealed = try await SealedBatch(batch, under: cipher, of: self)
      let commit = try await store(sealed.batch, under: cipher, from: origin)
      try await finishClearing(sealed, after: commit, from: origin)
      // Clearing a prefix that is empty has changed nothing.
      return cipher.names == nil || commit.changed.isEmpty ? commit : commit.changing(batch.selection)
    } catch let error as StorageError {
      throw renamed(error, batch, cipher)
    }
  }

  /// Commits a batch of stored keys and sealed values.
  @discardableResult
  func store(_ batch: WriteBatch, under cipher: StoreCipher, from origin: StoreOrigin) async throws -> StoreCommit {
    let commit = try await base.commit(batch, from: origin)
    rollback?.noteCommit(cipher.ring.generation)
    return commit
  }

  /// Notes a commit that was made beside this engine, which the anchor covers after its interval.
  func noteCommit() { rollback?.noteCommit(cipher.ring.generation) }

  /// Checks a batch before anything of it is sealed.
  func check(_ batch: WriteBatch) throws {
    try batch.check(capabilities, location: description)
    guard batch.traits.contains(.records) else { return }
    for operation in batch.operations {
      switch operation {
      case .putRecord(let name, _), .deleteRecord(let name):
        if name.isReserved { throw StorageError.reserved(name, location: description) }
      default: break
      }
    }
  }

  /// Names the keys in an error of a commit as its caller does.
  func renamed(_ error: StorageError, _ batch: WriteBatch, _ cipher: StoreCipher) -> StorageError {
    guard let names = cipher.names else { return error }
    return error.renaming { key in
      names.knownName(of: key)
        ?? batch.operations.lazy.compactMap(\.key).first { (try? names.key(of: $0)) == key }
    }
  }

  /// Removes what other writers have added to cleared prefixes between the reading of their keys and the commit.
  /// - Throws: `outcomeUnknown`, since the batch itself is committed.
  private func finishClearing(_ sealed: SealedBatch, after commit: StoreCommit, from origin: StoreOrigin) async throws {
    guard let listed = sealed.listedAt, commit.revision > listed.next else { return }
    do {
      // Not a child of this task: a cancellation would say that nothing was written.
      try await Task { try await removeLate(sealed, listed, commit, from: origin) }.value
    } catch {
      let cause = (error as? StorageError)?.message ?? "the task was cancelled."
      throw StorageError(
        .outcomeUnknown,
        "The batch is committed, but values that other writers added to a cleared prefix may remain: \(cause)",
        advice: "Clear the prefix again.", location: description)
    }
  }

  private func removeLate(
    _ sealed: SealedBatch, _ listed: StoreRevision, _ commit: StoreCommit, from origin: StoreOrigin
  ) async throws {
    while true {
      let late = try await withSnapshot { snapshot -> [NameIndex.Entry] in
        guard let index = try await (snapshot as? EncryptedSnapshot)?.nameIndex() else { return [] }
        return sealed.prefixes.flatMap { index.entries(prefix: $0) }.filter {
          $0.summary.revision > listed && $0.summary.revision < commit.revision
        }
      }
      guard !late.isEmpty else { return }
      let cipher = cipher
      var operations = cipher.precondition
      for entry in late {
        operations += [.require(entry.stored, entry.summary.revision), .delete(entry.stored)]
      }
      let batch = WriteBatch(operations, transaction: commit.transaction, durability: sealed.batch.durability)
      do {
        try await store(batch, under: cipher, from: origin)
        return
      } catch let error as StorageError where error.code == .preconditionFailed {
        _ = try await ciphers.reload(after: cipher)  // Or a value was written after the clearing, and stays.
      }
    }
  }
}

extension WriteBatch.Operation {
  /// The key of an operation on one value.
  var key: KeyName? {
    switch self {
    case .put(let key, _, _), .delete(let key), .require(let key, _): key
    case .clear, .putRecord, .deleteRecord, .requireRecord: nil
    }
  }
}

extension SystemRecord.Name {
  /// Whether the record belongs to the encryption of its store, which alone writes it.
  fileprivate var isReserved: Bool {
    let text = description
    return text == "encryption" || text.hasPrefix("encryption.")
  }
}
