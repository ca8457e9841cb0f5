package import Foundation

/// The implementation of ``PersistenceCapability`` that actors share. Its methods run on the caller's actor, so values
/// that are not `Sendable` never leave it.
package struct PersistenceCalls: Sendable {
  package let store: TypedStore

  package init(_ store: TypedStore) { self.store = store }

  private var isAtomic: Bool { store.engine.capabilities.contains(.atomicBatches) }

  package func save<T: Codable>(_ value: T, for key: String) async throws {
    let key = try StoreKey(key)
    let encoded = try store.coding.encode(value, for: key)
    try await store.save(encoded, of: Box(encoded, size: encoded.data.count), for: key)
  }

  package func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let key = try StoreKey(key)
    return try await store.reading {
      guard let encoded = try await store.storedForm(of: key) else { return nil }
      return try store.coding.decode(type, from: encoded, for: key)
    }
  }

  package func load(key: String) async throws -> Data? {
    guard store.coding.encodesAllTypes else { return try await load(Data.self, for: key) }
    return try await store.storedForm(of: StoreKey(key))?.data
  }

  package func exists(key: String) async -> Bool {
    guard let key = try? StoreKey(key) else { return false }  // An invalid key cannot be stored.
    do { return try await store.exists(key) } catch { return true }
  }

  package func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    // Encode all values first, so that an encoding failure writes nothing.
    let encoded = try items.map { item in
      let key = try StoreKey(item.key)
      return (key, try store.coding.encode(item.value, for: key))
    }
    guard isAtomic else {
      for (key, value) in encoded { try await store.save(value, of: Box(value, size: value.data.count), for: key) }
      return
    }
    guard !encoded.isEmpty else { return }
    let batch = WriteBatch(encoded.map { .put($0.0, $0.1.data, $0.1.attributes) })
    try await store.write(batch, encoded.map { ($0.0, Box($0.1, size: $0.1.data.count)) }, store.traits)
  }

  package func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    let keys = try keys.map { try StoreKey($0) }
    return try await store.reading {
      try zip(keys, try await store.loadAll(keys) { $1 }).map { key, encoded in
        try encoded.map { try store.coding.decode(type, from: $0, for: key) }
      }
    }
  }

  package func deleteBatch(keys: [String]) async throws {
    let keys = try keys.map { try StoreKey($0) }
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
