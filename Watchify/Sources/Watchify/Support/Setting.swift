import Coffer
import CofferTerminal
import WatchifyKit

/// A setting with its value as text, independent of its type.
struct Setting: Sendable {
  /// The current value of a setting.
  struct Shown: Sendable {
    var text: String
    var json: JSON
    var isDefault: Bool
  }

  let name: String
  let about: String
  /// The allowed values, as text.
  let allowed: String
  let usual: String
  let read: @Sendable (StorageRouter) async throws -> Shown
  /// Stores a value given as text; returns `false` if the text is not an allowed value.
  let write: @Sendable (StorageRouter, String) async throws -> Bool
  let reset: @Sendable (StorageRouter) async throws -> Void

  private init<Value: Equatable & Codable & Sendable>(
    _ key: SettingKey<Value>, _ allowed: String, text: @escaping @Sendable (Value) -> String,
    json: (@Sendable (Value) -> JSON)? = nil, parse: @escaping @Sendable (String) -> Value?
  ) {
    name = key.name
    about = key.description
    self.allowed = allowed
    usual = key.defaultValue.map(text) ?? ""
    read = { settings in
      let value = try await settings.get(key)
      return Shown(text: text(value), json: json?(value) ?? .text(text(value)), isDefault: value == key.defaultValue)
    }
    write = { settings, word in
      guard let value = parse(word) else { return false }
      try await settings.set(value, for: key)
      return true
    }
    reset = { try await $0.remove(key) }
  }

  private static func flag(_ key: SettingKey<Bool>) -> Setting {
    Setting(
      key, "true or false", text: { $0 ? "true" : "false" }, json: { .flag($0) },
      parse: { word in
        switch word.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
      })
  }

  private static func number(_ key: SettingKey<Int>, _ range: ClosedRange<Int>, _ unit: String) -> Setting {
    Setting(
      key, "a whole number of \(unit), \(grouped(range.lowerBound)) to \(grouped(range.upperBound))",
      text: { grouped($0) }, json: { .number($0) },
      parse: { word in Int(word.replacing(",", with: "")).flatMap { range.contains($0) ? $0 : nil } })
  }

  private static func threshold(_ key: SettingKey<PriceThreshold>) -> Setting {
    let short: KeyValuePairs<PriceThreshold, String> = [
      .any: "any", .fiveDollars: "5", .tenDollars: "10", .twentyFiveDollars: "25", .tenPercent: "10%",
      .twentyFivePercent: "25%",
    ]
    return Setting(
      key, "any, 5, 10, 25 (units of the store's currency), 10% or 25%",
      text: { value in short.first { $0.key == value }?.value ?? value.rawValue },
      parse: { word in
        short.first { $0.value == word.lowercased() || $0.key.rawValue.lowercased() == word.lowercased() }?.key
      })
  }

  private static let channels = Setting(
    StorageKeys.notificationChannels, "desktop, terminal, both with a comma between them, or none",
    text: { $0.isEmpty ? "none" : $0.joined(separator: ",") }, json: { .list($0.map(JSON.text)) },
    parse: { word in
      if word == "none" { return [] }
      let names = word.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      return names.allSatisfy { ["desktop", "terminal"].contains($0) } ? names : nil
    })

  private static let permission = Setting(
    StorageKeys.notificationPermission, "notDetermined, authorized or denied", text: \.rawValue
  ) { NotificationPermission(rawValue: $0) }

  private static let quietHours = Setting(
    StorageKeys.quietHours, "hours such as 22:00-07:30, or off", text: \.description
  ) { QuietHours($0) }

  /// All settings, in display order.
  static let all: [Setting] =
    [
      number(StorageKeys.syncIntervalMinutes, 5...1_440, "minutes"),
      number(StorageKeys.readsUntilRemoved, 1...100, "reads"),
      number(StorageKeys.convertedPercent, 0...100, "percent"),
      flag(StorageKeys.notificationsEnabled), channels, threshold(StorageKeys.priceDropThreshold),
      threshold(StorageKeys.priceIncreaseThreshold), quietHours,
      number(StorageKeys.stockQuietHours, 0...168, "hours"), permission,
    ] + ChangeType.allCases.map { flag(StorageKeys.notify($0)) } + [
      flag(StorageKeys.autoDeleteEvents), number(StorageKeys.eventRetentionDays, 1...36_500, "days"),
      flag(StorageKeys.autoDeleteSnapshots), number(StorageKeys.snapshotRetentionDays, 1...36_500, "days"),
      number(StorageKeys.activityGroupingWindowMinutes, 1...60, "minutes"),
    ]

  static func named(_ word: String) throws -> Setting {
    if let setting = all.first(where: { $0.name.lowercased() == word.lowercased() }) { return setting }
    let shown = word.oneLine(limit: 40)
    let lowered = all.map { $0.name.lowercased() }
    let close = suggestion(for: word, among: lowered).flatMap { close in
      all.first { $0.name.lowercased() == close.lowercased() }?.name
    }
    let hint = close.map { "Did you mean '\($0)'?" } ?? "They are \(all.map(\.name).joined(separator: ", "))."
    throw UsageError("There is no setting '\(shown)'. \(hint)", .settings)
  }
}
