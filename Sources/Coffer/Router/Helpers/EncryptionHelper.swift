public import Foundation

/// Encrypts and decrypts values (document 4).
///
/// This version has the calls; each refuses with `unsupported`, and never returns what it was given.
public actor EncryptionHelper {
  /// The helper of the application.
  public static let shared = EncryptionHelper()

  /// A helper.
  public init() {}

  /// Encrypts a value.
  /// - Throws: `unsupported`.
  public func encrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    throw StorageError.noEncryption.locating(backend: "", key: try StoreKey(name))
  }

  /// Decrypts a value.
  /// - Throws: `unsupported`.
  public func decrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    throw StorageError.noEncryption.locating(backend: "", key: try StoreKey(name))
  }
}
