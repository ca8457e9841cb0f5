import Foundation

/// The schemas of the values of a store, by key or by the start of the key.
///
/// A key that is declared itself has that schema; otherwise the longest declared prefix decides.
public struct StoreSchema: Sendable {
  private var keys: [KeyName: DeclaredSchema] = [:]
  private var prefixes: [(prefix: KeyName, schema: DeclaredSchema)] = []
  /// Finds the schemas of keys that are declared elsewhere, such as those of a router.
  private var lookup: (@Sendable (KeyName) -> DeclaredSchema?)?

  /// Creates a schema without declarations.
  public init() {}

  /// - Parameter lookup: finds the schemas of keys that are declared elsewhere.
  package init(lookup: @escaping @Sendable (KeyName) -> DeclaredSchema?) { self.lookup = lookup }

  /// Declares the schema of one key.
  /// - Throws: `StorageError` with code `invalidSchema` if the key is declared already.
  public mutating func declare<Value: Codable>(_ key: KeyName, _ schema: ValueSchema<Value>) throws {
    guard keys.updateValue(schema.byStore, forKey: key) == nil else {
      throw StorageError.invalidSchema(schema.name, "its key is declared twice.")
    }
  }

  /// Declares the schema of all keys that start with a prefix.
  /// - Throws: `StorageError` with code `invalidSchema` if the prefix is declared already.
  public mutating func declare<Value: Codable>(prefix: KeyName, _ schema: ValueSchema<Value>) throws {
    guard !prefixes.contains(where: { $0.prefix == prefix }) else {
      throw StorageError.invalidSchema(schema.name, "its prefix is declared twice.")
    }
    prefixes.append((prefix, schema.byStore))
    prefixes.sort { $0.prefix.size > $1.prefix.size }
  }

  /// Returns the schema of a key; `nil` if it has none.
  subscript(key: KeyName) -> DeclaredSchema? {
    if let lookup { return lookup(key) }
    return keys[key] ?? prefixes.first { key.hasPrefix($0.prefix) }?.schema
  }
}

extension ValueSchema where Value: Codable {
  /// The schema of values that a typed store encodes.
  fileprivate var byStore: DeclaredSchema { declared { try $1.encode($0, for: $2) } }
}
