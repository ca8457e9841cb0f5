public import Foundation

/// Raw bytes, as document 3 and the library that it comes from call them.
public typealias Bytes = [UInt8]

/// Bytes by key, with completions instead of `async` (document 3): for code that cannot `await`.
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
/// Every completion is called once, after the operation has ended. Which thread calls it is the conformer's to say:
/// ``EngineKeyValueStorage`` has a queue for that. Who can `await` uses ``store(_:for:)``, ``value(for:)`` and
/// ``remove(for:)``, which every conformer has.
///
/// The protocol asks for no `Sendable` and names no actor, so a class written for Swift 5 conforms as it is, also in
/// Swift 6 mode, with its declarations as the document prints them:
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
  /// The name of a value. It is unique in a storage.
  typealias Key = String
  /// Any bytes; none at all are a value too.
  typealias Value = Bytes

  /// Stores a value, replacing what was there.
  /// - Parameters:
  ///   - value: the bytes.
  ///   - key: their name.
  ///   - finished: called once with `nil`, or with what went wrong.
  func store(value: Value, for key: Key, finished: @escaping (_ error: (any Error)?) -> Void)

  /// Reads the value of a key. A missing one is an error.
  ///
  /// The document's postcondition holds, `(value = nil) ⊻ (error = nil)`: exactly one of the two is `nil`. The
  /// `precondition` in its example, `(optionalValue != nil) == (optionalError != nil)`, says the opposite and would end
  /// the program each time; with `!=` in place of `==` it is right.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with the value, or with what went wrong.
  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void)

  /// Removes the value of a key.
  ///
  /// The document does not say what the removal of a missing key is, and the implementations of it disagreed.
  /// ``EngineKeyValueStorage`` succeeds, since what was asked for holds; ``KeyValueStorageAdapter`` takes both.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with `nil`, or with what went wrong.
  func remove(for key: Key, finished: @escaping (_ error: (any Error)?) -> Void)
}

/// The forms that the document's examples use; they differ from its declarations.
extension KeyValueStorage {
  /// Stores `Data`: ``store(value:for:finished:)`` with the labels of the document's example.
  ///
  /// ```swift
  /// storage.store(key: "name", value: Data("John Doe".utf8)) { error in }
  /// ```
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - value: the bytes.
  ///   - finished: called once with `nil`, or with what went wrong.
  public func store(key: Key, value: Data, finished: @escaping (_ error: (any Error)?) -> Void) {
    store(value: Bytes(value), for: key, finished: finished)
  }

  /// Removes a value: ``remove(for:finished:)`` with the label of the document's example.
  /// - Parameters:
  ///   - key: the name of the value.
  ///   - finished: called once with `nil`, or with what went wrong.
  public func remove(key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    remove(for: key, finished: finished)
  }
}
