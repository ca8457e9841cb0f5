import Foundation

/// The schemas of the values of a store, by key or by the start of the key.
///
/// A key that is declared itself has that schema; otherwise the longest declared prefix decides.
public struct StoreSchema: Sendable {
  private var keys: [StoreKey: DeclaredSchema] = [:]
  private var prefixes: [(prefix: StoreKey, schema: DeclaredSchema)] = []

  /// Creates a schema without declarations.
  public init() {}

  /// Declares the schema of one key.
  /// - Throws: `StorageError` with code `invalidSchema` if the key is declared already.
  public mutating func declare<Value>(_ key: StoreKey, _ schema: ValueSchema<Value>) throws {
    guard keys.updateValue(schema.declared, forKey: key) == nil else {
      throw StorageError.invalidSchema(schema.name, "its key is declared twice.")
    }
  }

  /// Declares the schema of all keys that start with a prefix.
  /// - Throws: `StorageError` with code `invalidSchema` if the prefix is declared already.
  public mutating func declare<Value>(prefix: StoreKey, _ schema: ValueSchema<Value>) throws {
    guard !prefixes.contains(where: { $0.prefix == prefix }) else {
      throw StorageError.invalidSchema(schema.name, "its prefix is declared twice.")
    }
    prefixes.append((prefix, schema.declared))
    prefixes.sort { $0.prefix.size > $1.prefix.size }
  }

  /// Returns the schema of a key; `nil` if it has none. Kept old forms have none.
  subscript(key: StoreKey) -> DeclaredSchema? {
    if let schema = keys[key] { return schema }
    guard let schema = prefixes.first(where: { key.hasPrefix($0.prefix) })?.schema, !KeptForms.contains(key) else {
      return nil
    }
    return schema
  }
}
