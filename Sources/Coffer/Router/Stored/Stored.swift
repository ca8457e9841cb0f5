/// A property that is stored.
///
/// ```swift
/// @MainActor final class Settings {
///   @Stored(.theme) var theme
///   @Stored(.recentSearches) var searches = []
/// }
///
/// settings.theme = .dark
/// for await theme in settings.$theme.changes { apply(theme) }
/// ```
///
/// What it promises is said at ``StoredValue``, which `$theme` is. Until the value is loaded, the property is its
/// default: `try await settings.$searches.load()` before you append to a list.
@MainActor @propertyWrapper
public struct Stored<Key: StorageKey> {
  /// The value as an object that a user interface can be bound to.
  public let projectedValue: StoredValue<Key>

  /// The value.
  public var wrappedValue: Key.Value {
    get { projectedValue.value }
    nonmutating set { projectedValue.value = newValue }
  }

  /// A stored property of a key that has a default.
  /// - Parameters:
  ///   - key: which value it is.
  ///   - router: where it is stored.
  public init(_ key: Key, in router: StorageRouter = .shared) {
    guard let value = key.defaultValue else {
      preconditionFailure("The key '\(key.name)' has no default: give the property a value, @Stored(...) var x = ...")
    }
    projectedValue = StoredValue(key, in: router, initially: value)
  }

  /// A stored property with a value of its own while nothing is stored, which takes the place of the key's default.
  /// - Parameters:
  ///   - wrappedValue: what it is while nothing is stored.
  ///   - key: which value it is.
  ///   - router: where it is stored.
  public init(wrappedValue: Key.Value, _ key: Key, in router: StorageRouter = .shared) {
    projectedValue = StoredValue(key, in: router, initially: wrappedValue)
  }
}
