import Foundation

/// The implementation of ``PersistenceCapability`` that actors share. Its methods run on the caller's actor, so values
/// that are not `Sendable` never leave it.
package struct PersistenceCalls: Sendable {
  package let store: TypedStore

  package init(_ store: TypedStore) { self.store = store }

  private var isAtomic: Bool { store.engine.capabilities.contains(.atomicBatches) }

  package func save<T: Codable>(_ value: T, for key: String) async throws {
    let key = try StoreKey(key)
    try await store.save(store.coding.encode(value, for: key), for: key)
  }

  package func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let key = try StoreKey(key)
    guard let data = try await store.load(Data.self, for: key) else { return nil }
    return try store.coding.decode(type, from: data, for: key)
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
      for (key, data) in encoded { try await store.save(data, for: key) }
      return
    }
    try await store.saveAll(encoded)
  }

  package func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    let keys = try keys.map { try StoreKey($0) }
    return try zip(keys, try await store.loadAll(Data.self, keys: keys)).map { key, data in
      try data.map { try store.coding.decode(type, from: $0, for: key) }
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

  package func migrate(from oldVersion: String, to newVersion: String) throws {
    guard oldVersion != newVersion else { return }
    throw StorageError(
      .unsupported, "No migration step is registered from version '\(oldVersion)' to '\(newVersion)'.",
      advice: "Nothing was changed. Load the values, convert them and save them with saveBatch.",
      location: store.engine.description)
  }
}
