public import CofferPreferences
import Foundation

/// Preferences by suite and key (document 4), for those who need no declared key.
///
/// A suite is the file that `UserDefaults(suiteName:)` reads; the identifier of an app group is the suite that its
/// applications share. Every suite is opened once.
public actor UserDefaultsHelper {
  /// The helper of the application, with the usual settings.
  public static let shared = UserDefaultsHelper()

  private let configuration: StorageConfiguration
  private var adapters: [ExactText: UserDefaultsAdapter] = [:]

  /// - Parameter configuration: how preferences are opened.
  public init(configuration: StorageConfiguration = StorageConfiguration()) { self.configuration = configuration }

  private func adapter(_ suite: String?) async throws -> UserDefaultsAdapter {
    let suite = suite ?? configuration.applicationName
    let name = ExactText(suite)
    if let adapter = adapters[name] { return adapter }
    let adapter = try await UserDefaultsAdapter.open(suiteName: suite, configuration: configuration.stores.slots)
    if let other = adapters[name] { return other }  // opened meanwhile
    adapters[name] = adapter
    return adapter
  }

  /// Stores a preference as its own type.
  /// - Throws: `StorageError`.
  public func set(_ value: PreferenceValue, forKey key: String, suite: String? = nil) async throws {
    try await adapter(suite).set(value, for: key)
  }

  /// A preference; `nil` when it is proven absent.
  /// - Throws: `StorageError`.
  public func get(forKey key: String, suite: String? = nil) async throws -> PreferenceValue? {
    try await adapter(suite).value(for: key)
  }

  /// Removes a preference. A missing one is no error.
  /// - Throws: `StorageError`.
  public func remove(forKey key: String, suite: String? = nil) async throws {
    try await adapter(suite).delete(key: key)
  }

  /// Whether there is a preference.
  /// - Throws: `StorageError` when nobody can tell.
  public func exists(forKey key: String, suite: String? = nil) async throws -> Bool {
    try await adapter(suite).engine.contains(StoreKey(key))
  }

  /// The names of all preferences of a suite, in the order of their bytes.
  /// - Throws: `StorageError`.
  public func allKeys(suite: String? = nil) async throws -> [String] { try await adapter(suite).keys() }
}
