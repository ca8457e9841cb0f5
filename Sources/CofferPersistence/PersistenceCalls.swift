import Coffer
package import Foundation

/// The implementation of ``PersistenceCapability`` that actors share. Its methods run on the caller's actor, so values
/// that are not `Sendable` never leave it.
package struct PersistenceCalls: Sendable {
  package let store: TypedStore

  package init(_ store: TypedStore) { self.store = store }

  private var isAtomic: Bool { store.engine.capabilities.contains(.atomicBatches) }

  package func save<T: Codable>(_ value: T, for key: String) async throws {
    let key = try KeyName(key)
    try await store.save(ready(value, key))
  }

  private func ready<T: Codable>(_ value: T, _ key: KeyName) throws -> ReadyValue {
    let encoded = try store.coding.encode(value, for: key)
    return ReadyValue(
      key: key, encoded: encoded, box: Box(encoded, size: encoded.data.count), traits: store.traits)
  }

  package func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let key = try KeyName(key)
    return try await store.reading {
      guard let encoded = try await store.storedForm(of: key) else { return nil }
      return try store.coding.decode(type, from: encoded, for: key)
    }
  }

  package func load(key: String) async throws -> Data? {
    guard store.coding.encodesAllTypes else { return try await load(Data.self, for: key) }
    return try await store.storedForm(of: KeyName(key))?.data
  }

  package func exists(key: String) async -> Bool {
    guard let key = try? KeyName(key) else { return false }  // An invalid key cannot be stored.
    do { return try await store.exists(key) } catch { return true }
  }

  package func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    // Encode all values first, so that an encoding failure writes nothing.
    let values = try items.map { try ready($0.value, try KeyName($0.key)) }
    guard isAtomic else {
      for value in values { try await store.save(value) }
      return
    }
    try await store.batch { batch in
      for value in values { batch.save(value) }
    }
  }

  package func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    let keys = try keys.map { try KeyName($0) }
    return try await store.reading {
      try zip(keys, try await store.loadAll(keys) { $1 }).map { key, encoded in
        try encoded.map { try store.coding.decode(type, from: $0, for: key) }
      }
    }
  }

  package func deleteBatch(keys: [String]) async throws {
    let keys = try keys.map { try KeyName($0) }
    guard isAtomic else {
      for key in keys { try await store.delete(key) }
      return
    }
    try await store.deleteAll(keys)
  }

  package func migrate(from oldVersion: String, to newVersion: String) async throws {
    guard oldVersion != newVersion else { return }
    guard store.coding.schema != nil else {
      throw StorageError(
        .unsupported, "No migration step is registered from version '\(oldVersion)' to '\(newVersion)'.",
        advice: "Nothing was changed. Create the persistence with a StoreSchema, which has the steps.",
        location: store.engine.description)
    }
    try await store.migrate().requireComplete()
  }
}
