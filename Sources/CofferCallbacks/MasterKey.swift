import CofferEncryption
public import Foundation

/// The 32 secret bytes of a ``SecureKeyValueStorage``, from which the keys of all its values are derived.
///
/// ```swift
/// let key = try MasterKey()
/// try await vault.store(Data(key.base64EncodedString().utf8), for: "storage key", transactionID: nil)
/// ```
///
/// It is in locked memory and wiped when the last reference is released; the texts and bytes from which it is made are
/// not. Without it no value can be read again.
public struct MasterKey: Sendable {
  /// The size of a key in bytes.
  public static let sizeInBytes = DataKey.count

  /// The use of a key, by which storages with the same key have unrelated names and values.
  public struct Context: Hashable, Sendable {
    /// The size of a context in bytes.
    public static let sizeInBytes = 8

    let bytes: Data

    /// Creates a context; returns `nil` unless the text has exactly 8 bytes of UTF-8.
    public init?(_ text: String) {
      bytes = Data(text.utf8)
      guard bytes.count == Self.sizeInBytes else { return nil }
    }
  }

  private let key: DataKey

  /// Creates a random key.
  /// - Throws: `StorageError`: `unavailable` if the system has no random bytes.
  public init() throws { key = try DataKey.random() }

  /// Creates a key from its bytes; returns `nil` unless they are 32, and if fewer than 8 of them differ. Such bytes are
  /// not random, which the key material of encrypted stores must be as well.
  public init?(_ bytes: Data) {
    guard !KeyMaterial.repeatsFewBytes(bytes), let key = try? DataKey(SecretBytes(copying: bytes)) else { return nil }
    self.key = key
  }

  /// Creates a key from its Base64 text; returns `nil` unless that is 32 bytes, and as for bytes.
  public init?(base64Encoded text: String) {
    guard let bytes = Data(base64Encoded: text) else { return nil }
    self.init(bytes)
  }

  /// The key as Base64 text, to keep it in a keychain or on paper.
  public func base64EncodedString() -> String {
    key.material.withUnsafeBytes { Data($0).base64EncodedString() }
  }

  /// Derives the key of a context in the store with a label.
  func key(for context: Context, label: String) throws -> DataKey {
    try key.derivedKey(
      for: DataKey.Purpose("secure key-value storage"), context: context.bytes + Data(label.utf8))
  }
}

extension MasterKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A text without the key.
  public var description: String { "master key" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
