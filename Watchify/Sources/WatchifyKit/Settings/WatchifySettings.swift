public import Coffer

/// The settings of Watchify (document 2): typed keys in one catalog, so that `coffer audit` shows them.
///
/// ```swift
/// let minutes = try await container.settings.get(StorageKeys.syncIntervalMinutes)
/// ```
public struct WatchifySettings: StorageKeyCatalog {
  /// "Watchify"
  public let name = "Watchify"
  /// The engine that they live in: the one of the tables.
  static let home = "watchify"

  /// The keys.
  public let allKeys: [AnyStorageKey] =
    [
      .key(StorageKeys.syncIntervalMinutes), .key(StorageKeys.readsUntilRemoved),
      .key(StorageKeys.convertedPercent), .key(StorageKeys.notificationsEnabled),
      .key(StorageKeys.notificationChannels),
      .key(StorageKeys.priceDropThreshold), .key(StorageKeys.priceIncreaseThreshold),
      .key(StorageKeys.quietHours), .key(StorageKeys.stockQuietHours), .key(StorageKeys.notificationPermission),
      .key(StorageKeys.autoDeleteEvents), .key(StorageKeys.eventRetentionDays), .key(StorageKeys.autoDeleteSnapshots),
      .key(StorageKeys.snapshotRetentionDays), .key(StorageKeys.activityGroupingWindowMinutes),
    ] + ChangeType.allCases.map { .key(StorageKeys.notify($0)) }

  /// The catalog.
  public init() {}
}

extension StorageKeys {
  private static func key<Value: Codable & Sendable>(
    _ name: String, _ defaultValue: Value, _ about: String, owner: String
  ) -> TypedKey<Value> {
    TypedKey(name, in: .engine(WatchifySettings.home), owner: owner, about: about, default: defaultValue)
  }

  // MARK: Syncing

  /// How often stores are read, in minutes; at least 5.
  public static let syncIntervalMinutes = key(
    "syncIntervalMinutes", 30, "Minutes between two reads of all stores.", owner: "Sync")
  /// At which complete read without a product it counts as removed.
  public static let readsUntilRemoved = key(
    "readsUntilRemoved", 2, "At which complete read without a product it counts as removed.", owner: "Sync")
  /// Up to how many percent a move of all prices is the exchange rate, in a shop that converts them.
  public static let convertedPercent = key(
    "convertedPercent", 3, "Up to how many percent all converted prices move at once without being news.",
    owner: "Sync")

  // MARK: Notifications

  /// The master switch.
  public static let notificationsEnabled = key(
    "notificationsEnabled", true, "Whether anything is notified.", owner: "Notifications")
  /// Which channels are used, by their names.
  public static let notificationChannels = key(
    "notificationChannels", ["desktop"], "The channels that news goes to.", owner: "Notifications")
  /// Which price drops are notified.
  public static let priceDropThreshold = key(
    "priceDropThreshold", PriceThreshold.any, "From which size on a price drop is notified.", owner: "Notifications")
  /// Which price increases are notified.
  public static let priceIncreaseThreshold = key(
    "priceIncreaseThreshold", PriceThreshold.any, "From which size on an increase is notified.",
    owner: "Notifications")
  /// When nothing is shown; it is told afterwards, together.
  public static let quietHours = key(
    "quietHours", QuietHours.none, "The hours in which notifications wait.", owner: "Notifications")
  /// For how many hours after a notified change of a variant's stock the next one is not notified.
  public static let stockQuietHours = key(
    "stockQuietHours", 6, "Hours for which a variant's flapping stock is not notified again.",
    owner: "Notifications")
  /// Whether the person wants to be notified; asked when there is first news.
  public static let notificationPermission = key(
    "notificationPermission", NotificationPermission.notDetermined, "Whether notifications were allowed.",
    owner: "Notifications")

  // MARK: Keeping

  /// Whether old events are deleted.
  public static let autoDeleteEvents = key(
    "autoDeleteEvents", false, "Whether old events are deleted.", owner: "Retention")
  /// After how many days events are deleted, if they are.
  public static let eventRetentionDays = key(
    "eventRetentionDays", 90, "For how many days events are kept.", owner: "Retention")
  /// Whether old points of price histories are deleted.
  public static let autoDeleteSnapshots = key(
    "autoDeleteSnapshots", false, "Whether old points of price histories are deleted.", owner: "Retention")
  /// After how many days they are, if they are; the last one before that stays.
  public static let snapshotRetentionDays = key(
    "snapshotRetentionDays", 90, "For how many days points of price histories are kept.", owner: "Retention")

  // MARK: Showing

  /// Within how many minutes events of one product are shown as one row.
  public static let activityGroupingWindowMinutes = key(
    "activityGroupingWindowMinutes", 5, "Minutes within which events of a product are one row.", owner: "Activity")
}
