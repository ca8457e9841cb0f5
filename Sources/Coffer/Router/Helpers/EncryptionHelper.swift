public import Foundation

/// An actor that encrypts and decrypts values.
///
/// This version declares the methods only: each throws `unsupported`, and never returns its input.
public actor EncryptionHelper {
  /// The shared helper.
  public static let shared = EncryptionHelper()

  /// Creates a helper.
  public init() {}

  /// Encrypts a value.
  /// - Throws: `unsupported`; `invalidKey` for an invalid name.
  public func encrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    throw StorageError.noEncryption.locating(at: "", key: try StoreKey(name))
  }

  /// Decrypts a value.
  /// - Throws: `unsupported`; `invalidKey` for an invalid name.
  public func decrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    throw StorageError.noEncryption.locating(at: "", key: try StoreKey(name))
  }
}
