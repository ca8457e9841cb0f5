import CofferCore
import CofferFileSystem
import CofferSQLite
public import CofferSlots

extension SlotEngine {
  /// Opens a suite of preferences: the property list that `UserDefaults(suiteName:)` reads and writes.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.preferences(suite: "com.example.shop")
  /// let store = TypedStore(engine: engine)
  /// try await store.save(30, for: "syncIntervalMinutes")
  /// ```
  ///
  /// The file is `$XDG_CONFIG_HOME/<suite>.plist`, by default in `~/.config`. It is replaced atomically; what other
  /// programs write into it is kept and heard as commits without transaction and origin. Values of other programs are
  /// read as `TypedStore` would have written them: text as it is, numbers, dates and collections as JSON. Values are
  /// written as bytes (`<data>`), unless the preference is of another type already and loses nothing by it;
  /// ``UserDefaultsAdapter/set(_:for:transaction:)`` says the type.
  ///
  /// A file that makes no sense, as a program leaves it that is killed while it writes, is kept in the quarantine, and
  /// what was written here last takes its place.
  /// - Parameters:
  ///   - suite: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own, as
  ///     `UserDefaults.standard`.
  ///   - configuration: how it is opened. Values are limited to 16 MiB, since each commit writes the whole file.
  /// - Throws: `StorageError`: `unsupported` for a name that cannot be one, `unavailable` when nothing says where
  ///   preferences are (HOME is unset), `notFound`, `permissionDenied`, `diskFull`, `notAStore`, `newerFormat`,
  ///   `damaged`.
  public static func preferences(
    suite: String? = nil, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> SlotEngine {
    let place = try PreferenceSuite(suite, in: .current)
    if let reading = try await beside({ try readOnly(place, configuration) }) { return reading }
    let slots = try DocumentSlots.preferences(place, configuration)
    return try await open(
      slots, journalIn: place.control, name: place.description, configuration: configuration.forPreferences)
  }

  /// The same for callers that cannot suspend: it blocks their thread while the journal is opened.
  package static func preferencesBlocking(
    suite: String? = nil, configuration: SlotConfiguration = SlotConfiguration()
  ) throws -> SlotEngine {
    let place = try PreferenceSuite(suite, in: .current)
    if let reading = try readOnly(place, configuration) { return reading }
    let slots = try DocumentSlots.preferences(place, configuration)
    return try SlotEngine(
      slots, journalIn: place.control, name: place.description, configuration: configuration.forPreferences)
  }

  /// Opens preferences that are there and cannot be written; `nil` for others.
  private static func readOnly(_ place: PreferenceSuite, _ configuration: SlotConfiguration) throws -> SlotEngine? {
    guard let reason = SlotObstacle.reason(control: place.control), try place.exists() else { return nil }
    return try SlotEngine(
      readOnly: try DocumentSlots.preferences(place, configuration, isReadOnly: true), journalIn: place.control,
      name: place.description, configuration: configuration.forPreferences, because: reason)
  }
}

extension DocumentSlots where Format == PropertyListFormat {
  fileprivate static func preferences(
    _ place: PreferenceSuite, _ configuration: SlotConfiguration, isReadOnly: Bool = false
  ) throws -> DocumentSlots {
    if !isReadOnly { try place.prepare(mayCreate: configuration.createsIfMissing) }
    return try DocumentSlots(
      PropertyListFormat(), at: place.path, control: place.control, name: place.description,
      maximumValueSize: configuration.forPreferences.maximumValueSize, isReadOnly: isReadOnly,
      onDamage: configuration.onDamage)
  }
}

extension SlotConfiguration {
  var forPreferences: SlotConfiguration {
    var configuration = self
    configuration.maximumValueSize = min(maximumValueSize, 16 << 20)
    return configuration
  }
}
