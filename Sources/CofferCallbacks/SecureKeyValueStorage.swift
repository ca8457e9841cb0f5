import CofferEncryption
public import Dispatch
import Foundation

/// Callback storage whose store sees neither names nor values: names are replaced by keyed hashes, values by envelopes.
///
/// ```swift
/// guard let context = SecureKeyValueStorage.Context("journals") else { return }
/// let storage = try SecureKeyValueStorage(engine: engine, masterKey: masterKey, context: context)
/// storage.store(value: Bytes("Dear diary".utf8), for: "2026-11-23") { error in }
/// ```
///
/// Any engine will do, also one of a server that must not be trusted with the content. The same name in another
/// context, under another label, or with another master key, is stored under an unrelated hash. A value is bound to its
/// name: one that the store returns for another name does not open. Names are any text. `docs/formats/envelope.md`
/// describes both.
///
/// It protects names and values, and nothing else: the store sees how many values there are, their sizes (rounded with
/// `padsValues`) and when they change, and it can remove values or return older ones. There is no listing, and the key
/// cannot be rotated; `StoreLocation.encrypted` has both.
///
/// Order, completions and lifetime are those of ``EngineKeyValueStorage``. Errors are ``Error``, or `StorageError` for
/// everything that concerns the engine.
public final class SecureKeyValueStorage: KeyValueStorage, Sendable {
  /// The use of the master key.
  public typealias Context = MasterKey.Context

  /// The errors of a value.
  public enum Error: Swift.Error, Hashable {
    /// There is no value for the key.
    case valueDoesNotExist
    /// The store returned no bytes.
    case noContent
    /// The store returned fewer bytes than any encrypted value has.
    case responseTooSmall
    /// The value was changed, belongs to another key, or was encrypted under another master key.
    case failedToDecrypt
  }

  private let storage: EngineKeyValueStorage
  private let names: DataKey
  private let values: DataKey
  private let identity: Data
  private let padsValues: Bool

  /// The engine that stores hashes and envelopes, which the storage never closes. Once it is closed, every operation
  /// fails.
  public var engine: any StorageEngine { storage.engine }
  /// The queue on which completions are called.
  public var queue: DispatchQueue { storage.queue }

  /// Creates a storage.
  /// - Parameters:
  ///   - engine: the engine that stores hashes and envelopes.
  ///   - masterKey: the key from which all others are derived.
  ///   - context: the use of the key.
  ///   - label: the name of the store, from which all keys are derived, too; empty by default. Of several stores with
  ///     one master key and context, none can be put in place of another if each has a label of its own.
  ///   - padsValues: whether values are padded, so that their stored sizes reveal less about them.
  ///   - queue: the queue on which completions are called; by default a serial queue of this storage.
  /// - Throws: `StorageError` if no key can be derived, as without memory.
  public init(
    engine: any StorageEngine, masterKey: MasterKey, context: Context, label: String = "", padsValues: Bool = false,
    queue: DispatchQueue = DispatchQueue(label: "coffer.callbacks")
  ) throws {
    storage = EngineKeyValueStorage(engine: engine, queue: queue)
    self.padsValues = padsValues
    let key = try masterKey.key(for: context, label: label)
    names = try key.derivedKey(for: DataKey.Purpose("opaque names"))
    values = try key.derivedKey(for: DataKey.Purpose("values"))
    identity = try Self.hash("identity", key).prefix(16)
  }

  /// Stores a value, replacing any existing one.
  public func store(value: Value, for key: Key, finished: @escaping (_ error: (any Swift.Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [self] name in
      let envelope = try Envelope.seal(
        Data(value), under: values, context: context(name), algorithm: .aes256GCM, isPadded: padsValues)
      try await engine.commit(WriteBatch([.put(name, envelope)]), from: storage.origin)
    }
  }

  /// Reads the value of a key. A missing value is the error ``Error/valueDoesNotExist``.
  public func retrieve(
    for key: Key, finished: @escaping (_ value: Value?, _ error: (any Swift.Error)?) -> Void
  ) {
    start(key, Completion { finished($0.value, $0.error) }) { [self] name in
      guard let entry = try await engine.entry(name) else { throw Error.valueDoesNotExist }
      return Bytes(try open(entry.value, name))
    }
  }

  /// Removes the value of a key. A missing value is the error ``Error/valueDoesNotExist``.
  public func remove(for key: Key, finished: @escaping (_ error: (any Swift.Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [self] name in
      guard try await engine.contains(name) else { throw Error.valueDoesNotExist }
      try await engine.commit(WriteBatch([.delete(name)]), from: storage.origin)
    }
  }

  // MARK: Keys and values

  private func start<R: Sendable>(
    _ key: Key, _ completion: Completion<R>, work: @escaping @Sendable (KeyName) async throws -> R
  ) {
    do {
      let hash = try Self.hash(key, names).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      storage.start(hash, completion, work: work)
    } catch {
      queue.async { completion.call(.failure(error)) }
    }
  }

  private static func hash(_ text: String, _ key: DataKey) throws -> Data {
    try Data(text.utf8).withUnsafeBytes { try key.keyedHash(of: $0) }
  }

  private func context(_ name: KeyName) -> EnvelopeContext {
    EnvelopeContext(store: identity, key: name, attributes: .none, format: 5)
  }

  private func open(_ envelope: Data, _ name: KeyName) throws -> Data {
    guard !envelope.isEmpty else { throw Error.noContent }
    guard envelope.count >= Envelope.overhead else { throw Error.responseTooSmall }
    do {
      return try Envelope.open(envelope, context: context(name)) { id in
        guard id == values.id else { throw Error.failedToDecrypt }
        return values
      }
    } catch let error as StorageError where error.code != .damaged {
      throw error  // Of a newer version, or of the cryptographic library: the value may be intact.
    } catch is StorageError, is AuthenticationFailure {
      throw Error.failedToDecrypt
    }
  }
}

extension SecureKeyValueStorage.Error: CustomStringConvertible {
  /// What happened, in a sentence.
  public var description: String {
    switch self {
    case .valueDoesNotExist: "There is no value for this key."
    case .noContent: "The store returned an empty value, which no encrypted one is."
    case .responseTooSmall: "The store returned fewer bytes than an encrypted value has."
    case .failedToDecrypt: "The value does not open: it was changed, or is of another key or master key."
    }
  }
}
