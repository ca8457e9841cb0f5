import CofferCore
import Foundation

/// A batch as it is committed to the store behind the encryption.
struct SealedBatch: Sendable {
  /// The operations on stored keys and sealed values, with the precondition that the key ring has not changed.
  let batch: WriteBatch
  /// The revision at which the keys of cleared prefixes were listed; `nil` if none was.
  let listedAt: StoreRevision?
  /// The prefixes that are cleared key by key.
  let prefixes: [KeyName]

  /// Seals a batch, reading what it needs to know about the store.
  init(_ batch: WriteBatch, under cipher: StoreCipher, of engine: EncryptedEngine) async throws {
    var index: NameIndex?
    if cipher.names != nil, batch.clearsPrefix {
      index = try await engine.withSnapshot { try await ($0 as? EncryptedSnapshot)?.nameIndex() }
    }
    var sealing = Sealing(cipher, index)
    sealing.operations.reserveCapacity(batch.operations.count + 2)
    sealing.operations += cipher.precondition
    for operation in batch.operations { try sealing.append(operation) }
    self.batch = WriteBatch(sealing.operations, transaction: batch.transaction, durability: batch.durability)
    listedAt = index?.revision
    prefixes = sealing.prefixes
  }
}

/// The sealing of one batch.
private struct Sealing {
  let cipher: StoreCipher
  /// The values of the store, for clearing prefixes of hidden names.
  let index: NameIndex?
  var operations: [WriteBatch.Operation] = []
  var prefixes: [KeyName] = []
  /// The names that the batch has put so far, for prefixes that it clears afterwards.
  private var put: Set<KeyName> = []

  init(_ cipher: StoreCipher, _ index: NameIndex?) {
    self.cipher = cipher
    self.index = index
  }

  mutating func append(_ operation: WriteBatch.Operation) throws {
    switch operation {
    case .put(let name, let value, let attributes):
      let stored = try cipher.stored(name, value, attributes)
      operations.append(.put(stored.key, stored.value, stored.attributes))
      if index != nil { put.insert(name) }
    case .delete(let name): operations.append(.delete(try cipher.storedKey(of: name)))
    case .require(let name, let revision): operations.append(.require(try cipher.storedKey(of: name), revision))
    case .clear(let prefix?) where cipher.names != nil: try clear(prefix)
    case .clear, .putRecord, .deleteRecord, .requireRecord: operations.append(operation)
    }
  }

  private mutating func clear(_ prefix: KeyName) throws {
    for entry in index?.entries(prefix: prefix) ?? [] { operations.append(.delete(entry.stored)) }
    for name in put where name.hasPrefix(prefix) {
      operations.append(.delete(try cipher.storedKey(of: name)))
    }
    prefixes.append(prefix)
  }
}

extension WriteBatch {
  /// Whether the batch clears a prefix.
  fileprivate var clearsPrefix: Bool {
    operations.contains { if case .clear(_?) = $0 { true } else { false } }
  }
}
