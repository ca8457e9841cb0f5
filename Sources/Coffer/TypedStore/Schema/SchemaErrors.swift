import Foundation

extension StorageError.Code {
  /// A step of a migration failed or returned a value that is not valid. The stored value is unchanged.
  public static let migrationFailed = Self("migrationFailed")
  /// A value has another version of its schema, in a call that cannot migrate it. The stored value is unchanged.
  public static let migrationNeeded = Self("migrationNeeded")
  /// The steps of a schema have a gap, a cycle or a duplicate, or their types do not match.
  public static let invalidSchema = Self("invalidSchema")
}

extension StorageError {
  package static func invalidSchema(_ name: String, _ reason: String) -> StorageError {
    StorageError(
      .invalidSchema, "The schema '\(name)' cannot be used: \(reason)",
      advice: "Correct its declaration. No store was changed.")
  }

  static func migrationFailed(
    _ schema: DeclaredSchema, from version: Int, _ reason: String, key: KeyName, location: String,
    underlying: (any Error)? = nil
  ) -> StorageError {
    StorageError(
      .migrationFailed,
      "The value could not be migrated from version \(version) to \(schema.version) of '\(schema.name)': \(reason)",
      advice: "The stored value is unchanged. Correct the step and read the value again.", location: location,
      key: key,
      // An error's own text may quote the value.
      underlying: underlying.map {
        .init(domain: String(describing: type(of: $0)), code: 0, text: "details withheld: they may quote the value")
      })
  }
}
