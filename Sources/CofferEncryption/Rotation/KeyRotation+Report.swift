public import CofferCore

extension KeyRotation {
  /// The outcome of a ``KeyRotation``.
  public struct Report: Sendable {
    /// A value that could not be written anew. It is stored as before.
    public struct Failure: Sendable {
      /// The key of the value; `nil` if its hidden name could not be opened.
      public let key: KeyName?
      /// The reason.
      public let error: StorageError

      /// Whether the value is stored under its name, also where names are hidden.
      let isNamed: Bool

      /// Whether the value cannot be read, whether or not the store is encrypted.
      var isUnreadable: Bool { [.damaged, .keyUnavailable, .newerFormat].contains(error.code) }
    }

    /// The purpose of the rotation.
    public let goal: KeyRotation.Goal
    /// The number of values that were examined.
    public internal(set) var values = 0
    /// The number of values that were written anew.
    public internal(set) var changedValues = 0
    /// The number of values that were in plain although the encryption of the store had been completed before, and that
    /// were refused until now. Anybody who can write the store's files may have put them there; they were encrypted
    /// like the values of a store that is encrypted for the first time. `nil` if an earlier encryption or decryption
    /// was not finished, since such values cannot be told then from those that waited for it.
    public internal(set) var unexpectedValues: Int? = 0
    /// The plain size of the values that were written anew, in bytes.
    public internal(set) var changedBytes = 0
    /// The short ids of the keys that were removed from the key ring, since no value needs them any more.
    public internal(set) var removedKeys: [String] = []
    /// Whether the store's free pages and log were freed of the removed keys, which are in the remains of earlier key
    /// rings, or after an encryption of the plain values. It is done for stores of up to 16 MiB, if no other reader
    /// prevents it; otherwise call ``EncryptedEngine/scrub()``.
    public internal(set) var isScrubbed = false
    /// The short id of the key that encrypts new values; `nil` for a store that is no longer encrypted.
    public internal(set) var primaryKey: String?
    /// The values that could not be written anew. The keys that they may need stay in the key ring.
    public internal(set) var failures: [Failure] = []

    /// Whether every value has reached the goal.
    public var isComplete: Bool { failures.isEmpty }
    /// Whether an encryption has ended, as it also does beside values that cannot be read.
    package internal(set) var isFinished = false
  }
}

extension KeyRotation {
  /// What a ``KeyRotation`` does with the values of a store.
  public enum Goal: String, Hashable, Sendable {
    /// Every value is encrypted under a new key, and the old keys are removed.
    case newKey
    /// Plain values are encrypted.
    case encryption
    /// Encrypted values are stored in plain.
    case decryption
  }
}
