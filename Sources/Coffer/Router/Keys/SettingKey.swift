/// A key whose reads always have a value, because it has a default.
///
/// ``SettingKey`` conforms to it. `values(of:)` and `cached(orDefault:)` of a router, and ``StorageSettings``, return
/// values of such keys that are not optional.
public protocol StorageKeyWithDefault<Value>: StorageKey {
  /// The value that reads return while none is stored; it is never written.
  var valueIfAbsent: Value { get }
}

extension StorageKeyWithDefault {
  public var defaultValue: Value? { valueIfAbsent }
}

/// The declaration of a setting: a value with a default.
///
/// ```swift
/// extension StorageKey where Self == SettingKey<Theme> {
///   static var theme: Self {
///     SettingKey("theme", in: .database(), owner: "Settings", about: "The colours of the window.", default: .system)
///   }
/// }
/// ```
public struct SettingKey<Value: Sendable>: StorageKeyWithDefault {
  private let key: TypedKey<Value>
  public let valueIfAbsent: Value

  public var name: String { key.name }
  public var domain: StorageDomain { key.domain }
  public var security: SecurityPolicy { key.security }
  public var serializer: Serializer<Value> { key.serializer }
  public var owner: String { key.owner }
  public var description: String { key.description }
  public var availability: PlatformAvailability { key.availability }
  public var syncPolicy: SyncPolicy { key.syncPolicy }
  public var declaration: (any AnyObject & Sendable)? { key.declaration }

  /// Creates a key.
  /// - Parameters:
  ///   - name: the name of the value in its store.
  ///   - domain: the domain in which the value is stored.
  ///   - owner: the part of the application that owns the key.
  ///   - about: the purpose of the value, in a sentence.
  ///   - defaultValue: the value that reads return while none is stored.
  ///   - serializer: the serializer of the value.
  ///   - availability: the platforms on which the value exists.
  ///   - sync: whether the value is sent to other devices.
  public init(
    _ name: String, in domain: StorageDomain, owner: String, about: String, default defaultValue: Value,
    as serializer: Serializer<Value>, availability: PlatformAvailability = .all, sync: SyncPolicy = .never
  ) {
    key = TypedKey(
      name, in: domain, owner: owner, about: about, default: defaultValue, as: serializer, availability: availability,
      sync: sync)
    valueIfAbsent = defaultValue
  }
}

extension SettingKey where Value: Codable {
  /// Creates a key whose value is stored as JSON.
  public init(
    _ name: String, in domain: StorageDomain, owner: String, about: String, default defaultValue: Value,
    availability: PlatformAvailability = .all, sync: SyncPolicy = .never
  ) {
    self.init(
      name, in: domain, owner: owner, about: about, default: defaultValue, as: .json, availability: availability,
      sync: sync)
  }
}

extension StorageRouter {
  /// Returns a stream of the current value, or the key's default, and the value after each change by any writer.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one.
  /// - Throws: `StorageError` when the key cannot be used, for example because it is in no catalog; `closed`. A value
  /// that cannot be read is delivered as a failure, and the stream continues.
  public nonisolated func values<K: StorageKeyWithDefault>(
    of key: K
  ) async throws -> AsyncStream<Result<K.Value, StorageError>> {
    let (values, fallback) = (try await storedValues(of: key), key.valueIfAbsent)
    return AsyncStream {
      for await value in values { return value.map { $0 ?? fallback } }
      return nil
    }
  }

  /// Returns the value of a key if it is cached and still current, and otherwise its default. The default does not mean
  /// that nothing is stored.
  public nonisolated func cached<K: StorageKeyWithDefault>(orDefault key: K) -> K.Value {
    cached(key) ?? key.valueIfAbsent
  }
}
