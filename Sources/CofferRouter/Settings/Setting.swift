/// A property wrapper for a setting, read and written without `await` from any thread.
///
/// ```swift
/// struct Appearance {
///   @Setting<SettingKey<Theme>> var theme: Theme
///   init(_ settings: StorageSettings) { _theme = Setting(.theme, in: settings) }
/// }
/// ```
///
/// It behaves as the subscript of ``StorageSettings``.
@propertyWrapper
public struct Setting<Key: StorageKeyWithDefault>: Sendable {
  private let key: Key
  private let settings: StorageSettings

  /// Creates a property of a key of `settings`.
  public init(_ key: Key, in settings: StorageSettings) {
    self.key = key
    self.settings = settings
  }

  /// The value of the setting.
  public var wrappedValue: Key.Value {
    get { settings[key] }
    nonmutating set { settings[key] = newValue }
  }
}
