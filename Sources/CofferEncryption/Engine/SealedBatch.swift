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
    guard cipher.names != nil, batch.mustRead(under: cipher) else {
      try self.init(batch, under: cipher)
      return
    }
    let locations = try await engine.locations(of: batch, under: cipher)
    let index =
      try await batch.clearsPrefix
      ? engine.withSnapshot { snapshot in
        try await (snapshot as? EncryptedSnapshot)?.nameIndex()
      } : nil
    try self.init(batch, under: cipher, index, locations)
  }

  /// Seals a batch.
  /// - Parameters:
  ///   - index: the values of the store, for clearing prefixes of hidden names.
  ///   - locations: the stored keys of required names while names are hidden or shown.
  init(
    _ batch: WriteBatch, under cipher: StoreCipher, _ index: NameIndex? = nil, _ locations: [KeyName: KeyName] = [:]
  ) throws {
    var sealing = Sealing(cipher, index, locations)
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
  let index: NameIndex?
  let locations: [KeyName: KeyName]
  var operations: [WriteBatch.Operation] = []
  var prefixes: [KeyName] = []
  /// The names that the batch has put so far, for prefixes that it clears afterwards.
  private var put: Set<KeyName> = []

  init(_ cipher: StoreCipher, _ index: NameIndex?, _ locations: [KeyName: KeyName]) {
    self.cipher = cipher
    self.index = index
    self.locations = locations
  }

  mutating func append(_ operation: WriteBatch.Operation) throws {
    switch operation {
    case .put(let name, let value, let attributes): try put(name, value, attributes)
    case .delete(let name): try delete(name)
    case .require(let name, let revision): try require(name, revision)
    case .clear(let prefix?) where cipher.names != nil: try clear(prefix)
    case .clear, .putRecord, .deleteRecord, .requireRecord: operations.append(operation)
    }
  }

  private mutating func put(_ name: KeyName, _ value: Data, _ attributes: ValueAttributes) throws {
    let (stored, algorithm) = (try cipher.names?.stored(name), cipher.algorithm(of: name))
    if let algorithm {
      let sealed = try cipher.seal(value, attributes, of: name, stored, algorithm)
      operations.append(.put(stored?.key ?? name, sealed.value, sealed.attributes))
    } else {
      operations.append(.put(name, value, attributes.visible))
    }
    guard let stored else { return }
    // While names are hidden or shown, the value may still be stored under the other key.
    if cipher.isTransitional { operations.append(.delete(algorithm == nil ? stored.key : name)) }
    if index != nil { put.insert(name) }
  }

  private mutating func delete(_ name: KeyName) throws {
    for key in try cipher.storedKeys(of: name) { operations.append(.delete(key)) }
  }

  private mutating func require(_ name: KeyName, _ revision: StoreRevision?) throws {
    let keys = try cipher.storedKeys(of: name)
    let location = locations[name] ?? keys[0]
    for key in keys { operations.append(.require(key, key == location ? revision : nil)) }
  }

  private mutating func clear(_ prefix: KeyName) throws {
    for entry in index?.entries(prefix: prefix) ?? [] { operations.append(.delete(entry.stored)) }
    for name in put where name.hasPrefix(prefix) {
      for key in try cipher.storedKeys(of: name) { operations.append(.delete(key)) }
    }
    prefixes.append(prefix)
  }
}

extension WriteBatch {
  /// Whether the batch clears a prefix.
  fileprivate var clearsPrefix: Bool {
    operations.contains { if case .clear(_?) = $0 { true } else { false } }
  }

  /// Whether the store must be read to seal the batch.
  func mustRead(under cipher: StoreCipher) -> Bool {
    guard cipher.names != nil else { return false }
    if clearsPrefix { return true }
    return cipher.isTransitional && operations.contains { if case .require = $0 { true } else { false } }
  }
}

extension EncryptedEngine {
  /// Returns the stored keys of the names that a batch requires, while names are hidden or shown.
  fileprivate func locations(of batch: WriteBatch, under cipher: StoreCipher) async throws -> [KeyName: KeyName] {
    guard cipher.isTransitional else { return [:] }
    var locations: [KeyName: KeyName] = [:]
    for case .require(let name, _?) in batch.operations {
      for key in try cipher.storedKeys(of: name) where locations[name] == nil {
        if try await base.summary(of: key) != nil { locations[name] = key }
      }
    }
    return locations
  }
}
