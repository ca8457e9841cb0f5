public import CofferRouter

/// The catalog of Watchify's settings, which `coffer audit` lists.
///
/// ```swift
/// let minutes = try await container.settings.get(StorageKeys.syncIntervalMinutes)
/// ```
public struct WatchifySettings: StorageKeyCatalog {
  /// The name of the catalog: "Watchify".
  public let name = "Watchify"
  /// The name of the engine that stores the settings, in the same database as the tables.
  static let home = "watchify"

  /// The keys.
  public let allKeys: [AnyStorageKey] =
    [
      .key(StorageKeys.syncIntervalMinutes), .key(StorageKeys.syncsUntilRemoved),
      .key(StorageKeys.convertedPercent), .key(StorageKeys.notificationsEnabled),
      .key(StorageKeys.notificationChannels), .key(StorageKeys.secretsPassphraseFile),
      .key(StorageKeys.priceDropThreshold), .key(StorageKeys.priceIncreaseThreshold),
      .key(StorageKeys.quietHours), .key(StorageKeys.stockQuietHours), .key(StorageKeys.notificationPermission),
      .key(StorageKeys.autoDeleteEvents), .key(StorageKeys.eventRetentionDays), .key(StorageKeys.autoDeleteSnapshots),
      .key(StorageKeys.snapshotRetentionDays), .key(StorageKeys.activityGroupingWindowMinutes),
      .key(StorageKeys.pagePictures), .key(StorageKeys.publicAddress), .key(StorageKeys.accessTokenFile),
    ] + ChangeType.allCases.map { .key(StorageKeys.notify($0)) }

  /// Creates the catalog.
  public init() {}
}

extension StorageKeys {
  private static func key<Value: Codable & Sendable>(
    _ name: String, _ defaultValue: Value, _ about: String, owner: String
  ) -> SettingKey<Value> {
    SettingKey(name, in: .engine(WatchifySettings.home), owner: owner, about: about, default: defaultValue)
  }

  // MARK: Syncing

  /// The interval between syncs of all stores, in minutes; 30 by default, at least 5.
  public static let syncIntervalMinutes = key(
    "syncIntervalMinutes", 30, "Minutes between two syncs of all stores.", owner: "Sync")
  /// The number of consecutive complete reads without a product after which it counts as removed; 2 by default.
  public static let syncsUntilRemoved = key(
    "syncsUntilRemoved", 2, "Complete syncs without a product until it counts as removed.", owner: "Sync")
  /// The largest common price move, in percent, that is attributed to the exchange rate in a shop that converts its
  /// prices; 3 by default.
  public static let convertedPercent = key(
    "convertedPercent", 3, "Percent that all converted prices may move at once without being news.",
    owner: "Sync")

  // MARK: Notifications

  /// The master switch.
  public static let notificationsEnabled = key(
    "notificationsEnabled", true, "Whether anything is notified.", owner: "Notifications")
  /// The names of the selected channels.
  public static let notificationChannels = key(
    "notificationChannels", ["desktop"], "The channels that deliver notifications.", owner: "Notifications")
  /// The file with the passphrase of the sealed file that keeps the secrets of channels where there is no keyring;
  /// empty for none.
  public static let secretsPassphraseFile = key(
    "secretsPassphraseFile", "", "The file with the passphrase of the channels' secrets.", owner: "Notifications")
  /// The smallest price drop that is notified.
  public static let priceDropThreshold = key(
    "priceDropThreshold", PriceThreshold.any, "The smallest price drop that is notified.", owner: "Notifications")
  /// The smallest price increase that is notified.
  public static let priceIncreaseThreshold = key(
    "priceIncreaseThreshold", PriceThreshold.any, "The smallest price increase that is notified.",
    owner: "Notifications")
  /// The hours in which notifications are held back; they are delivered together afterwards.
  public static let quietHours = key(
    "quietHours", QuietHours.none, "The hours in which notifications are held back.", owner: "Notifications")
  /// The time, in hours, for which further stock changes of a variant are not notified after a notified one.
  public static let stockQuietHours = key(
    "stockQuietHours", 6, "Hours in which further stock changes of a variant are not notified.",
    owner: "Notifications")
  /// The user's permission to notify, requested at the first notification.
  public static let notificationPermission = key(
    "notificationPermission", NotificationPermission.notDetermined, "Whether notifications were allowed.",
    owner: "Notifications")

  // MARK: The page

  /// How the page shows pictures of products.
  public static let pagePictures = key(
    "pagePictures", ProductPictures.cached, "How the page shows pictures of products.", owner: "Page")

  /// The address of the page at a reverse proxy; empty for none.
  public static let publicAddress = key(
    "publicAddress", "", "The address of the page at a reverse proxy.", owner: "Page")
  /// The file with the access token of the page; empty for none.
  public static let accessTokenFile = key(
    "accessTokenFile", "", "The file with the access token of the page.", owner: "Page")

  // MARK: Retention

  /// Whether old events are deleted.
  public static let autoDeleteEvents = key(
    "autoDeleteEvents", false, "Whether old news is deleted.", owner: "Retention")
  /// The age in days after which events are deleted if `autoDeleteEvents` is set; 90 by default.
  public static let eventRetentionDays = key(
    "eventRetentionDays", 90, "Days for which news is kept.", owner: "Retention")
  /// Whether old snapshots of price histories are deleted.
  public static let autoDeleteSnapshots = key(
    "autoDeleteSnapshots", false, "Whether old points of price histories are deleted.", owner: "Retention")
  /// The age in days after which snapshots are deleted if `autoDeleteSnapshots` is set; 90 by default. The last one
  /// before that date is kept.
  public static let snapshotRetentionDays = key(
    "snapshotRetentionDays", 90, "Days for which points of price histories are kept.", owner: "Retention")

  // MARK: Display

  /// The time, in minutes, within which events of one product are shown as one row.
  public static let activityGroupingWindowMinutes = key(
    "activityGroupingWindowMinutes", 5, "Minutes within which news of one group about a product is one row.",
    owner: "Activity")
}
