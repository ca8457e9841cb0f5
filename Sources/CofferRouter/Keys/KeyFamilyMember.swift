import Coffer

/// The key of one member of a ``KeyFamily``, as returned by its subscript.
public struct KeyFamilyMember<Value: Sendable>: StorageKey {
  public let name: String
  let template: TypedKey<Value>
  let namespace: KeyFamilyNamespace

  public var domain: StorageDomain { template.domain }
  public var security: SecurityPolicy { template.security }
  public var serializer: Serializer<Value> { template.serializer }
  public var owner: String { template.owner }
  public var description: String { template.description }
  public var availability: PlatformAvailability { template.availability }
  public var syncPolicy: SyncPolicy { template.syncPolicy }
  public var schema: ValueSchema<Value>? { get throws { try template.schema } }
  public var defaultValue: Value? { template.defaultValue }
  public var isSensitive: Bool { template.isSensitive }
  public var lifetime: Duration? { template.lifetime }
  public var damagePolicy: DamagePolicy<Value>? { template.damagePolicy }
  public var family: KeyFamilyNamespace? { namespace }
}

/// The names of a family's members. One object is shared by all copies of a declaration, so that a router recognizes
/// the members without comparing the declarations again.
public final class KeyFamilyNamespace: Sendable {
  let name: String
  let separator: String
  /// The name of the type of the ids.
  let idType: String

  init(name: String, separator: String, idType: String) {
    self.name = name
    self.separator = separator
    self.idType = idType
  }

  var prefix: String { name + separator }

  /// Validates the declaration.
  /// - Throws: `invalidDeclaration` without a name or a separator.
  func check() throws {
    guard !name.isEmpty, !separator.isEmpty else {
      throw StorageError(
        .invalidDeclaration, "A family of keys has no \(name.isEmpty ? "name" : "separator").",
        advice: "Declare both; without them, it would claim the names of other keys. Nothing was read or written.")
    }
  }

  /// Returns the key of a member by its full name.
  /// - Throws: `invalidKey` if the id is empty or too long.
  func key(named name: String) throws -> KeyName {
    let (limit, size) = (KeyName.maximumSize - prefix.utf8.count, name.utf8.count - prefix.utf8.count)
    guard size > 0 else {
      throw StorageError(
        .invalidKey, "An id of the family '\(self.name.escapingControlCharacters)' is empty.",
        advice: "Give the value an id of at least one byte. Nothing was read or written.")
    }
    guard size <= limit else {
      throw StorageError(
        .invalidKey,
        "An id of the family '\(self.name.escapingControlCharacters)' has \(size) bytes; the limit is \(limit).",
        advice: "Use a shorter id, such as a hash of it. Nothing was read or written.")
    }
    return try KeyName(name)
  }
}

extension StorageKey {
  /// The name of the declaration: that of the key, or the prefix of its family.
  var declaredName: String { family?.prefix ?? name }
}

extension AnyStorageKey {
  /// Creates a type-erased family; short form for lists: `.family(StorageKeys.drafts)`.
  public static func family<ID, Value>(_ family: KeyFamily<ID, Value>) -> AnyStorageKey {
    AnyStorageKey(family.declaration)
  }
}
