public import CofferRouter

/// The user's permission to notify.
public enum NotificationPermission: String, Codable, Sendable {
  /// Permission has not been requested yet; the first notification requests it.
  case notDetermined
  /// The user allows notifications.
  case authorized
  /// The user has declined notifications.
  case denied
}

/// A snapshot of the settings that decide what is notified.
public struct NotificationPreferences: Codable, Hashable, Sendable {
  /// Whether notifications are delivered at all: the master switch is on and permission is not denied.
  public var isEnabled = true
  /// The names of the selected channels.
  public var channels = ["desktop"]
  /// The kinds of changes that are notified.
  public var types: Set<ChangeType> = Set(ChangeType.allCases).subtracting([.imagesChanged, .compareAtChanged])
  /// The smallest price drop that is notified.
  public var dropThreshold = PriceThreshold.any
  /// The smallest price increase that is notified.
  public var increaseThreshold = PriceThreshold.any
  /// The hours in which notifications are held back.
  public var quietHours = QuietHours.none
  /// The time, in hours, in which a variant's stock changes are notified only once.
  public var stockQuietHours = 6

  /// Creates the default preferences.
  public init() {}

  /// Creates a snapshot of the current settings.
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

  /// Returns whether a change is to be notified, by its kind and size.
  public func wants(_ change: ChangeEventDTO) -> Bool {
    guard isEnabled, types.contains(change.changeType) else { return false }
    switch change.changeType {
    case .priceDropped: return dropThreshold.isSatisfied(by: change)
    case .priceIncreased: return increaseThreshold.isSatisfied(by: change)
    default: return true
    }
  }
}
