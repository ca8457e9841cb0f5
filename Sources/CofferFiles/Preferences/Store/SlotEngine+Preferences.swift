import CofferCore
import CofferFileSystem
import CofferSQLite

extension SlotEngine {
  /// Opens a suite of preferences: the property list that `UserDefaults(suiteName:)` reads and writes.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.preferences(suite: "com.example.shop")
  /// let store = TypedStore(engine: engine)
  /// try await store.save(30, for: "syncIntervalMinutes")
  /// ```
  ///
  /// The file is `$XDG_CONFIG_HOME/<suite>.plist`, by default in `~/.config`. It is replaced atomically; changes that
  /// other programs write to it are preserved and delivered as commits without transaction and origin. Their values are
  /// read as text, or as JSON for numbers, dates and collections, with their type as an attribute. `TypedStore` and the
  /// router write a value with its property list type. A value that is committed as bytes without a type is stored as
  /// bytes (`<data>`), unless the existing preference has another type that represents them exactly.
  ///
  /// A damaged file, such as one left by a program that was killed while writing, is kept in the quarantine and
  /// replaced by the content that Coffer wrote last. Values of another library that wraps them in JSON are refused with
  /// `foreignFormat`, unless the configuration ignores them (``SlotEngine/Configuration/foreignData``).
  /// - Parameters:
  ///   - suite: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own suite, as for
  ///     `UserDefaults.standard`.
  ///   - configuration: the options for opening the store. Values are limited to 16 MiB, since each commit writes the
  ///     whole file.
  /// - Throws: `StorageError`: `unsupported` for an invalid name, `unavailable` if the directory of preferences is
  ///   unknown (HOME is unset), `notFound`, `permissionDenied`, `diskFull`, `notAStore`, `newerFormat`,
  ///   `foreignFormat`, `damaged`.
  public static func preferences(
    suite: String? = nil, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> SlotEngine {
    let file = try PreferenceSuite(suite, in: .current)
    return try await configuration.events.opening(at: file.description, isReadOnly: \.isReadOnly) {
      try await preferences(file, configuration)
    }
  }

  private static func preferences(
    _ file: PreferenceSuite, _ configuration: SlotEngine.Configuration
  ) async throws -> SlotEngine {
    let reading = try await runBlocking {
      try file.refuseForeign(unless: configuration.foreignData)
      return try readOnly(file, configuration)
    }
    if let reading { return reading }
    let slots = try DocumentSlots.preferences(file, configuration)
    return try await open(
      slots, journalIn: file.control, name: file.description, configuration: configuration.forPreferences)
  }

  /// Opens a suite for callers that cannot suspend. It blocks the calling thread while the journal is opened.
  package static func preferencesBlocking(
    suite: String? = nil, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) throws -> SlotEngine {
    let file = try PreferenceSuite(suite, in: .current)
    return try configuration.events.openingNow(at: file.description, isReadOnly: \.isReadOnly) {
      try preferencesBlocking(file, configuration)
    }
  }

  private static func preferencesBlocking(
    _ file: PreferenceSuite, _ configuration: SlotEngine.Configuration
  ) throws -> SlotEngine {
    try file.refuseForeign(unless: configuration.foreignData)
    if let reading = try readOnly(file, configuration) { return reading }
    let slots = try DocumentSlots.preferences(file, configuration)
    return try SlotEngine(
      slots, journalIn: file.control, name: file.description, configuration: configuration.forPreferences)
  }

  /// Opens existing preferences for reading only if they cannot be written or if the configuration demands it; returns
  /// `nil` for others.
  private static func readOnly(_ file: PreferenceSuite, _ configuration: SlotEngine.Configuration) throws -> SlotEngine?
  {
    guard let reason = configuration.reasonToOnlyRead(control: file.control) else { return nil }
    guard try file.exists() else {
      guard configuration.access == .readOnly else { return nil }
      throw file.isMissing
    }
    return try SlotEngine(
      readOnly: try DocumentSlots.preferences(file, configuration, isReadOnly: true), journalIn: file.control,
      name: file.description, configuration: configuration.forPreferences, because: reason)
  }
}

extension DocumentSlots where Format == PropertyListFormat {
  fileprivate static func preferences(
    _ file: PreferenceSuite, _ configuration: SlotEngine.Configuration, isReadOnly: Bool = false
  ) throws -> DocumentSlots {
    if !isReadOnly { try file.prepare(mayCreate: configuration.createsIfMissing) }
    return try DocumentSlots(
      PropertyListFormat(), at: file.path, control: file.control, name: file.description,
      maximumValueSize: configuration.forPreferences.maximumValueSize, isReadOnly: isReadOnly,
      onDamage: configuration.common.emit)
  }
}

extension SlotEngine.Configuration {
  var forPreferences: SlotEngine.Configuration {
    var configuration = self
    configuration.maximumValueSize = min(maximumValueSize, 16 << 20)
    return configuration
  }
}
