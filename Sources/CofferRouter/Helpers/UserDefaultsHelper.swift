import Coffer
public import CofferFiles
import Foundation

/// Access to preferences by suite and key, without a declared key.
///
/// A suite is the file that `UserDefaults(suiteName:)` reads; the identifier of an app group is the suite that its
/// applications share. Each suite is opened once.
public actor UserDefaultsHelper {
  /// The shared helper, with the default settings.
  public static let shared = UserDefaultsHelper()

  private let configuration: StorageConfiguration
  private var adapters: [ExactText: UserDefaultsAdapter] = [:]

  /// Creates a helper.
  /// - Parameter configuration: the settings with which preferences are opened.
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

  /// Stores a preference with its property list type, replacing any existing one.
  /// - Throws: `StorageError`.
  public func set(_ value: PreferenceValue, forKey key: String, suite: String? = nil) async throws {
    try await adapter(suite).set(value, for: key)
  }

  /// Returns a preference, or `nil` when it is proven absent.
  /// - Throws: `StorageError`.
  public func get(forKey key: String, suite: String? = nil) async throws -> PreferenceValue? {
    try await adapter(suite).get(key)
  }

  /// Removes a preference. Removing a missing preference is not an error.
  /// - Throws: `StorageError`.
  public func remove(forKey key: String, suite: String? = nil) async throws {
    try await adapter(suite).delete(key: key)
  }

  /// Returns whether there is a preference; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  public func exists(forKey key: String, suite: String? = nil) async throws -> Bool {
    try await adapter(suite).engine.contains(KeyName(key))
  }

  /// Returns the names of all preferences of a suite, in the order of their UTF-8 bytes.
  /// - Throws: `StorageError`.
  public func allKeys(suite: String? = nil) async throws -> [String] { try await adapter(suite).keys() }
}
