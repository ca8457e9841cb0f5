import CofferCore
import Foundation

/// The version of a value's schema, which is stored as an attribute of the value.
///
/// A value without a mark has the version that its schema declares for unversioned values.
public struct SchemaMark: Hashable, Sendable {
  /// The name of the schema, at most 255 bytes.
  public let name: String
  /// The version of the schema that the value was written with, from 1 on.
  public let version: Int

  package init(_ name: String, _ version: Int) {
    self.name = name
    self.version = version
  }

  /// Returns the mark among the attributes of a value; `nil` if there is none.
  /// - Throws: `StorageError` with code `newerFormat` if the mark is in a form that this version does not know.
  public init?(in attributes: ValueAttributes) throws {
    guard !attributes.isEmpty, let stored = attributes[ValueAttribute.schema] else { return nil }
    guard stored.bytes.count > 4, let name = String(validating: stored.bytes.dropFirst(4), as: UTF8.self),
      let version = Int(exactly: stored.bytes.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }),
      version > 0
    else {
      throw StorageError(
        .newerFormat, "The version mark of the value has an unknown form.",
        advice: "The value is kept. Use a newer version of Coffer, or check the store for damage.")
    }
    self.init(name, version)
  }

  /// The attribute that holds the mark.
  package var attributes: ValueAttributes {
    var attributes = ValueAttributes()
    attributes[ValueAttribute.schema] = AttributeBytes(
      withUnsafeBytes(of: UInt32(clamping: version).littleEndian) { Array($0) } + name.utf8)
    return attributes
  }
}
