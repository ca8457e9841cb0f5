public import Foundation

/// Raw bytes: the type of the values of a ``KeyValueStorage``.
public typealias Bytes = [UInt8]

/// Storage of bytes by key with completions instead of `async`, for code that cannot `await`.
///
/// ```swift
/// let storage: any KeyValueStorage = EngineKeyValueStorage(engine: MemoryEngine())
/// storage.store(value: Bytes("John Doe".utf8), for: "name") { error in
///   storage.retrieve(for: "name") { value, error in
///     // exactly one of the two is nil
///   }
/// }
/// ```
///
/// Every completion is called once, after the operation has ended. The conformer chooses the thread:
/// ``EngineKeyValueStorage`` has a queue for that. Code that can `await` uses ``store(_:for:)``, ``retrieve(for:)`` and
/// ``remove(for:)``, which every conformer has.
///
/// The protocol requires neither `Sendable` nor an actor, so a class written for Swift 5 conforms unchanged, also in
/// Swift 6 mode:
///
/// ```swift
/// class LegacyStorage: KeyValueStorage {
///   private var values: [Key: Value] = [:]
///
///   func store(value: Value, for key: Key, finished: @escaping (_ error: Error?) -> Void) {
///     values[key] = value
///     finished(nil)
///   }
///   // retrieve and remove
/// }
/// ```
public protocol KeyValueStorage {
  /// The name of a value, unique within a storage.
  typealias Key = String
  /// The bytes of a value. Empty bytes are a value too.
  typealias Value = Bytes

  /// Stores a value, replacing any existing one.
  /// - Parameters:
  ///   - value: the bytes.
  ///   - key: the name of the value.
  ///   - finished: called once with `nil`, or with the error.
  func store(value: Value, for key: Key, finished: @escaping (_ error: (any Error)?) -> Void)

  /// Reads the value of a key. A missing value is an error.
  ///
  /// The postcondition is `(value = nil) ⊻ (error = nil)`: exactly one of the two is `nil`. The example in the
  /// specification checks `precondition((optionalValue != nil) == (optionalError != nil))`, which is inverted and
  /// always fails; replace `==` by `!=`.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with the value, or with the error.
  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void)

  /// Removes the value of a key.
  ///
  /// Whether removing a missing value is an error is up to the conformer. ``EngineKeyValueStorage`` succeeds;
  /// ``KeyValueStorageAdapter`` accepts both.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with `nil`, or with the error.
  func remove(for key: Key, finished: @escaping (_ error: (any Error)?) -> Void)
}

/// Variants of the calls with other labels, as used in the specification's examples.
extension KeyValueStorage {
  /// Stores `Data`: the same as ``store(value:for:finished:)``.
  ///
  /// ```swift
  /// storage.store(key: "name", value: Data("John Doe".utf8)) { error in }
  /// ```
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - value: the bytes.
  ///   - finished: called once with `nil`, or with the error.
  public func store(key: Key, value: Data, finished: @escaping (_ error: (any Error)?) -> Void) {
    store(value: Bytes(value), for: key, finished: finished)
  }

  /// Removes the value of a key: the same as ``remove(for:finished:)``.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with `nil`, or with the error.
  public func remove(key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    remove(for: key, finished: finished)
  }
}
