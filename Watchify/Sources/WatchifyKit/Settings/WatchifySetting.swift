public import CofferRouter

/// A setting with its value as text, independent of its type: the table that the command and the page share.
///
/// ```swift
/// for setting in WatchifySetting.all {
///   let shown = try await setting.read(container.settings)
/// }
/// ```
public struct WatchifySetting: Sendable {
  /// A value by its form, for machine-readable output.
  public enum Value: Hashable, Sendable {
    /// A switch.
    case flag(Bool)
    /// A whole number.
    case number(Int)
    /// A text.
    case text(String)
    /// A list of texts.
    case list([String])
  }

  /// The current value of a setting.
  public struct Shown: Hashable, Sendable {
    /// The value as text, in a form that ``WatchifySetting/write`` accepts.
    public var text: String
    /// The value by its form.
    public var value: Value
    /// Whether the value is the default.
    public var isDefault: Bool
  }

  /// The form of the values, which determines how a setting is entered.
  public enum Form: Hashable, Sendable {
    /// On or off: "true" or "false".
    case flag
    /// A whole number within a range, in a unit such as "minutes".
    case number(ClosedRange<Int>, unit: String)
    /// One of several texts.
    case choice([String])
    /// Any of several texts with commas between them, or "none".
    case list([String])
    /// Two times such as "22:00-07:30", or "off".
    case hours
    /// Any text.
    case text
  }

  /// The name of the key.
  public let name: String
  /// A sentence that describes the setting.
  public let about: String
  /// The group to which the setting belongs, such as "Notifications".
  public let group: String
  /// The form of the values.
  public let form: Form
  /// The allowed values, as text.
  public let allowed: String
  /// The default value as text.
  public let usual: String
  /// Returns the current value. Throws `StorageError`.
  public let read: @Sendable (StorageRouter) async throws -> Shown
  /// Returns whether a text is an allowed value.
  public let accepts: @Sendable (String) -> Bool
  /// Stores a value given as text; returns `false`, and stores nothing, if the text is not an allowed value. Throws
  /// `StorageError`.
  public let write: @Sendable (StorageRouter, String) async throws -> Bool
  /// Restores the default. Throws `StorageError`.
  public let reset: @Sendable (StorageRouter) async throws -> Void

  private init<Stored: Equatable & Codable & Sendable>(
    _ key: SettingKey<Stored>, _ form: Form, _ allowed: String, text: @escaping @Sendable (Stored) -> String,
    value: (@Sendable (Stored) -> Value)? = nil, parse: @escaping @Sendable (String) -> Stored?
  ) {
    accepts = { parse($0) != nil }
    name = key.name
    about = key.description
    group = key.owner
    self.form = form
    self.allowed = allowed
    usual = key.defaultValue.map(text) ?? ""
    read = { settings in
      let stored = try await settings.get(key)
      return Shown(
        text: text(stored), value: value?(stored) ?? .text(text(stored)), isDefault: stored == key.defaultValue)
    }
    write = { settings, word in
      guard let value = parse(word) else { return false }
      try await settings.set(value, for: key)
      return true
    }
    reset = { try await $0.remove(key) }
  }

  private static func flag(_ key: SettingKey<Bool>) -> WatchifySetting {
    WatchifySetting(
      key, .flag, "true or false", text: { $0 ? "true" : "false" }, value: { .flag($0) },
      parse: { word in
        switch word.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
      })
  }

  private static func number(_ key: SettingKey<Int>, _ range: ClosedRange<Int>, _ unit: String) -> WatchifySetting {
    WatchifySetting(
      key, .number(range, unit: unit),
      "a whole number of \(unit), \(grouped(range.lowerBound)) to \(grouped(range.upperBound))",
      text: { grouped($0) }, value: { .number($0) },
      parse: { word in Int(word.replacing(",", with: "")).flatMap { range.contains($0) ? $0 : nil } })
  }

  private static func threshold(_ key: SettingKey<PriceThreshold>) -> WatchifySetting {
    let short: KeyValuePairs<PriceThreshold, String> = [
      .any: "any", .fiveDollars: "5", .tenDollars: "10", .twentyFiveDollars: "25", .tenPercent: "10%",
      .twentyFivePercent: "25%",
    ]
    return WatchifySetting(
      key, .choice(short.map(\.value)), "any, 5, 10, 25 (units of the store's currency), 10% or 25%",
      text: { value in short.first { $0.key == value }?.value ?? value.rawValue },
      parse: { word in
        short.first { $0.value == word.lowercased() || $0.key.rawValue.lowercased() == word.lowercased() }?.key
      })
  }

  private static let channels = WatchifySetting(
    StorageKeys.notificationChannels, .list(["desktop", "terminal"]),
    "desktop, terminal, both with a comma between them, or none",
    text: { $0.isEmpty ? "none" : $0.joined(separator: ",") }, value: { .list($0) },
    parse: { word in
      if word == "none" { return [] }
      let names = word.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      return names.allSatisfy { ["desktop", "terminal"].contains($0) } ? names : nil
    })

  private static func file(_ key: SettingKey<String>) -> WatchifySetting {
    WatchifySetting(
      key, .text, "the whole path of a file that only you can read, or none",
      text: { $0.isEmpty ? "none" : $0 }, parse: { word in word == "none" ? "" : word.hasPrefix("/") ? word : nil })
  }

  private static let publicAddress = WatchifySetting(
    StorageKeys.publicAddress, .text, "an address such as https://nas.example/watchify/, or none",
    text: { $0.isEmpty ? "none" : $0 },
    parse: { word in
      if word == "none" { return "" }
      // The page is not served where other devices reach it without TLS.
      guard let address = PublicAddress(word), address.isSecure || address.isOfThisDevice else { return nil }
      return address.description
    })

  private static let permission = WatchifySetting(
    StorageKeys.notificationPermission, .choice(["notDetermined", "authorized", "denied"]),
    "notDetermined, authorized or denied", text: \.rawValue
  ) { NotificationPermission(rawValue: $0) }

  private static let pictures = WatchifySetting(
    StorageKeys.pagePictures, .choice(ProductPictures.allCases.map(\.rawValue)),
    "cached (through this device), direct (shops see who looks) or off", text: \.rawValue
  ) { ProductPictures(rawValue: $0) }

  private static let quietHours = WatchifySetting(
    StorageKeys.quietHours, .hours, "hours such as 22:00-07:30, or off", text: \.description
  ) { QuietHours($0) }

  /// All settings, in display order.
  public static let all: [WatchifySetting] =
    [
      number(StorageKeys.syncIntervalMinutes, 5...1_440, "minutes"),
      number(StorageKeys.syncsUntilRemoved, 1...100, "syncs"),
      number(StorageKeys.convertedPercent, 0...100, "percent"),
      flag(StorageKeys.notificationsEnabled), channels, file(StorageKeys.secretsPassphraseFile),
      threshold(StorageKeys.priceDropThreshold),
      threshold(StorageKeys.priceIncreaseThreshold), quietHours,
      number(StorageKeys.stockQuietHours, 0...168, "hours"), permission,
    ] + ChangeType.allCases.map { flag(StorageKeys.notify($0)) } + [
      flag(StorageKeys.autoDeleteEvents), number(StorageKeys.eventRetentionDays, 1...36_500, "days"),
      flag(StorageKeys.autoDeleteSnapshots), number(StorageKeys.snapshotRetentionDays, 1...36_500, "days"),
      number(StorageKeys.activityGroupingWindowMinutes, 1...60, "minutes"), pictures, publicAddress,
      file(StorageKeys.accessTokenFile),
    ]

  /// Returns the setting with a name, without regard to case; `nil` if there is none.
  public static func named(_ name: String) -> WatchifySetting? {
    all.first { $0.name.lowercased() == name.lowercased() }
  }

  /// Returns a number with commas between thousands.
  private static func grouped(_ number: Int) -> String {
    number < 1_000 ? String(number) : String(number / 1_000) + "," + String(1_000 + number % 1_000).dropFirst()
  }
}
