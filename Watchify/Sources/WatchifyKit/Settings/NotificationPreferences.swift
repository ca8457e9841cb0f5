public import Coffer

/// Whether the person wants to be notified.
public enum NotificationPermission: String, Codable, Sendable {
  /// Nobody was asked yet; that happens when there is first news.
  case notDetermined
  /// The person wants them.
  case authorized
  /// The person does not want them.
  case denied
}

/// The settings that decide what is notified, of one moment.
public struct NotificationPreferences: Codable, Hashable, Sendable {
  /// Whether anything is notified: the master switch, unless the person has refused.
  public var isEnabled = true
  /// The channels that are used, by their names.
  public var channels = ["desktop"]
  /// Which news is notified.
  public var types: Set<ChangeType> = Set(ChangeType.allCases).subtracting([.imagesChanged, .compareAtChanged])
  /// From which size on a price drop is.
  public var dropThreshold = PriceThreshold.any
  /// From which size on a price increase is.
  public var increaseThreshold = PriceThreshold.any
  /// When nothing is shown.
  public var quietHours = QuietHours.none
  /// For how many hours a variant's stock is told once.
  public var stockQuietHours = 6

  /// The defaults.
  public init() {}

  /// The present settings.
  /// - Throws: `StorageError`.
  public init(from settings: StorageRouter) async throws {
    let state = try await settings.state(of: Self.keys + ChangeType.allCases.map { StorageKeys.notify($0) })
    let permission = try state.get(StorageKeys.notificationPermission)
    isEnabled = try state.get(StorageKeys.notificationsEnabled) && permission != .denied
    channels = try state.get(StorageKeys.notificationChannels)
    types = Set(try ChangeType.allCases.filter { try state.get(StorageKeys.notify($0)) })
    dropThreshold = try state.get(StorageKeys.priceDropThreshold)
    increaseThreshold = try state.get(StorageKeys.priceIncreaseThreshold)
    quietHours = try state.get(StorageKeys.quietHours)
    stockQuietHours = try state.get(StorageKeys.stockQuietHours)
  }

  private static let keys: [any StorageKey] = [
    StorageKeys.notificationPermission, StorageKeys.notificationsEnabled, StorageKeys.notificationChannels,
    StorageKeys.priceDropThreshold, StorageKeys.priceIncreaseThreshold, StorageKeys.quietHours,
    StorageKeys.stockQuietHours,
  ]

  /// Whether a change is worth a notification by its kind and size.
  public func wants(_ change: ChangeEventDTO) -> Bool {
    guard isEnabled, types.contains(change.changeType) else { return false }
    switch change.changeType {
    case .priceDropped: return dropThreshold.isSatisfied(by: change)
    case .priceIncreased: return increaseThreshold.isSatisfied(by: change)
    default: return true
    }
  }
}
