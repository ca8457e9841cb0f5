import Coffer
import CofferCore
import Foundation

extension TypedKey {
  /// Returns the key with the versions of its values.
  ///
  /// ```swift
  /// static let theme = TypedKey<Theme3>("theme", in: .database(), owner: "Settings", about: "The colours.")
  ///   .versioned(
  ///     by: try ValueSchema(
  ///       "theme", version: 3,
  ///       steps: [
  ///         MigrationStep(from: 1, to: 2) { (old: Theme1) in Theme2(old) },
  ///         MigrationStep(from: 2, to: 3) { (old: Theme2) in try Theme3(old) },
  ///       ]))
  /// ```
  ///
  /// Each stored value has the name and the version of the schema as an attribute. A value of an older version is
  /// migrated by its first read, in one commit, by one of all readers and processes. So is a value of a newer version
  /// that the schema has a step back from; without one, reads and writes throw `newerFormat`.
  ///
  /// The steps read older values with the codec of the key's serializer. With a custom serializer, which has none, each
  /// step reads `Data` or `String`. The key's ``migrating(_:)`` brings an older key's value to this key, which then
  /// has the present version.
  ///
  /// Edits through ``StoredValue`` and ``Stored`` of a versioned key are always committed in the background.
  /// - Parameter schema: the schema. Its error is thrown when the key is registered or used.
  public func versioned(by schema: @autoclosure () throws -> ValueSchema<Value>) -> TypedKey {
    let result: Result<ValueSchema<Value>, StorageError>
    do { result = .success(try schema()) } catch { result = .failure(StoredError.storage(error)) }
    return with(result)
  }
}

extension SettingKey {
  /// Returns the key with the versions of its values, as ``TypedKey/versioned(by:)`` does.
  /// - Parameter schema: the schema. Its error is thrown when the key is registered or used.
  public func versioned(by schema: @autoclosure () throws -> ValueSchema<Value>) -> SettingKey {
    SettingKey(key.versioned(by: try schema()), valueIfAbsent)
  }
}

extension KeyFamily {
  /// Returns the family with the versions of its values, as ``TypedKey/versioned(by:)`` does.
  /// - Parameter schema: the schema of each member. Its error is thrown when the family is registered or used.
  public func versioned(by schema: @autoclosure () throws -> ValueSchema<Value>) -> KeyFamily {
    KeyFamily(self, template.versioned(by: try schema()))
  }
}

extension StorageKey {
  /// Returns the schema of the key without its type, for values in the form of the key's serializer.
  /// - Throws: `invalidSchema`.
  func declaredSchema() throws -> DeclaredSchema? {
    guard let schema = try schema else { return nil }
    let serializer = serializer
    if let codec = serializer.codec {
      return schema.declared {
        $0.serialized(by: codec, isNative: serializer.isNative)
      } encode: {
        try serializer.marked($0, SchemaMark(schema.name, schema.version), $1, $2)
      }
    }
    for type in schema.olderTypes where type != Data.self && type != String.self {
      throw StorageError.invalidSchema(
        schema.name, "the serializer '\(serializer.name)' cannot read \(type); let the step read Data.")
    }
    return schema.declared {
      $0.serialized(by: nil, isNative: serializer.isNative)
    } encode: {
      try serializer.marked($0, SchemaMark(schema.name, schema.version), $1, $2)
    }
  }
}
