import CofferCore
import CofferEncryption
import Foundation
import Testing

extension RootKey {
  /// Returns a root key of known material and salt.
  static func forTests(_ seed: String = "root", salt: UInt8 = 0) throws -> RootKey {
    try RootKey(
      from: SecretBytes(copying: sha256(Data(seed.utf8))),
      RootKeyDerivation(.keyMaterial, salt: Data(repeating: salt, count: RootKeyDerivation.saltCount)))
  }
}

/// Returns the storage error that `body` throws. Fails the test if it throws none or another error.
func storageError(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> StorageError {
  try #require(throws: StorageError.self, sourceLocation: sourceLocation) { try body() }
}

/// Returns the storage error that an asynchronous `body` throws.
func storageError(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async throws -> StorageError {
  do { try await body() } catch let error as StorageError { return error }
  throw try #require(nil as StorageError?, "no error was thrown", sourceLocation: sourceLocation)
}

/// Returns the code of the storage error that `body` throws.
func code(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) throws -> StorageError.Code {
  try storageError(sourceLocation: sourceLocation, body).code
}
