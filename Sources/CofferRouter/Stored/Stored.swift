/// A property wrapper for a stored value.
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
/// A property is given its router by the initializer, or by `StorageRouter.$current` around the creation of its owner:
///
/// ```swift
/// let settings = StorageRouter.$current.withValue(router) { Settings() }
/// ```
///
/// The projected value, `$theme`, is a ``StoredValue``, which describes how edits are saved. Until the value is loaded,
/// the property has its default: await `settings.$searches.load()` before appending to a list.
@MainActor @propertyWrapper
public struct Stored<Key: StorageKey> {
  /// The value as an observable object.
  public let projectedValue: StoredValue<Key>

  /// The current value. Setting it updates the property immediately; ``StoredValue`` describes when it is saved.
  public var wrappedValue: Key.Value {
    get { projectedValue.value }
    nonmutating set { projectedValue.value = newValue }
  }

  /// Creates a stored property of a key that has a default. A property of any other key needs an initial value.
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - router: the router that stores the value.
  public init(_ key: Key, in router: StorageRouter = .current) where Key: StorageKeyWithDefault {
    projectedValue = StoredValue(key, in: router, initially: key.valueIfAbsent)
  }

  /// Creates a stored property with an initial value, which overrides the key's default.
  /// - Parameters:
  ///   - wrappedValue: the value of the property while nothing is stored.
  ///   - key: the key of the value.
  ///   - router: the router that stores the value.
  public init(wrappedValue: Key.Value, _ key: Key, in router: StorageRouter = .current) {
    projectedValue = StoredValue(key, in: router, initially: wrappedValue)
  }
}
