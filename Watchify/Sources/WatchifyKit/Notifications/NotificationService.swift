import Coffer
import CofferDatabase
import Foundation

/// Delivers notifications of changes, one per store, through the channels selected in the settings.
///
/// Changes are written to an outbox in the database together with their events. ``send(for:)`` delivers from the
/// outbox, so a failed delivery is retried later, and a delivered change is not delivered again by another process. A
/// failing channel never fails a sync; its error is in ``lastFailures``.
///
/// ```swift
/// NotificationService.shared.attach(service, channels: [DesktopChannel()])
/// await NotificationService.shared.send(for: news)
/// ```
@MainActor
public final class NotificationService {
  /// The instance shared by the application.
  public static let shared = NotificationService()

  /// Asks the user for permission to notify; called once, when there is something to deliver for the first time.
  public typealias Question = @MainActor @Sendable () async -> Bool

  private var service: StoreService?
  private var channels: [any NotificationChannel] = []
  private var question: Question?
  /// Whether a delivery is in progress; a second one at the same time has no effect.
  private var isDelivering = false

  /// The last error of each channel whose last delivery failed, by the channel's name.
  public private(set) var lastFailures: [String: ChannelError] = [:]

  /// Creates a service without an outbox and channels; ``attach(_:channels:question:)`` adds them.
  public init() {}

  /// Sets the store service and the channels.
  /// - Parameters:
  ///   - service: the service with the outbox and the settings.
  ///   - channels: the available channels; the settings select among them.
  ///   - question: prompts the user for permission when there is something to deliver for the first time. Linux has no
  ///     system prompt: without a question, permission is granted as soon as a channel is available.
  public func attach(
    _ service: StoreService, channels: [any NotificationChannel], question: Question? = nil
  ) {
    self.service = service
    self.channels = channels
    self.question = question
  }

  // MARK: Permission

  /// Returns the stored permission.
  public func authorizationStatus() async -> NotificationPermission {
    guard let settings = service?.modelContainer.settings else { return .notDetermined }
    return (try? await settings.get(StorageKeys.notificationPermission)) ?? .notDetermined
  }

  /// Requests permission, stores the result and returns whether it was granted. While no selected channel is available,
  /// returns `false` and neither requests nor stores anything.
  public func requestPermission() async -> Bool {
    guard let settings = service?.modelContainer.settings, await firstAvailable() != nil else { return false }
    let isGranted = if let question { await question() } else { true }
    try? await settings.set(isGranted ? .authorized : .denied, for: StorageKeys.notificationPermission)
    return isGranted
  }

  private func firstAvailable() async -> (any NotificationChannel)? {
    let chosen = (try? await service?.modelContainer.settings.get(StorageKeys.notificationChannels)) ?? []
    for channel in channels where chosen.contains(channel.name) {
      if case .available = await channel.availability() { return channel }
    }
    return nil
  }

  // MARK: Delivery

  /// Delivers everything in the outbox. `changes` need not be passed to be delivered: the sync has already written them
  /// to the outbox. Requests permission when there is something to deliver for the first time.
  public func send(for changes: [ChangeEventDTO]) async {
    guard let service, !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    do {
      let preferences = try await NotificationPreferences(from: service.modelContainer.settings)
      guard preferences.isEnabled, preferences.quietHours.end(at: service.now()) == nil,
        try await service.hasNews(for: names(preferences)), await isAuthorized()
      else { return }
      for channel in channels where preferences.channels.contains(channel.name) {
        try await deliver(through: channel, preferences, service)
      }
    } catch { await service.note(error) }
  }

  private func names(_ preferences: NotificationPreferences) -> [String] {
    channels.map(\.name).filter(preferences.channels.contains)
  }

  /// Returns the date of the next possible delivery; `nil` if the outbox is empty.
  func nextTurn() async throws -> Date? {
    guard let service else { return nil }
    let preferences = try await NotificationPreferences(from: service.modelContainer.settings)
    guard preferences.isEnabled, let turn = try await service.nextTurn(of: names(preferences)) else { return nil }
    return max(turn, preferences.quietHours.end(at: service.now()) ?? turn)
  }

  private func isAuthorized() async -> Bool {
    switch await authorizationStatus() {
    case .authorized: true
    case .denied: false
    case .notDetermined: await requestPermission()
    }
  }

  /// Delivers what is due for a channel, store by store, until a delivery fails.
  private func deliver(
    through channel: any NotificationChannel, _ preferences: NotificationPreferences, _ service: StoreService
  ) async throws {
    while let batch = try await service.claimNews(for: channel.name) {
      // Kinds of changes that were switched off in the meantime are not delivered.
      guard let content = NotificationContent(of: batch.events.filter(preferences.wants)) else {
        try await service.finish(batch)
        continue
      }
      do {
        try await channel.deliver(content)
        try await service.uninterrupted { try await service.finish(batch) }
        lastFailures[channel.name] = nil
      } catch let error as ChannelError {
        lastFailures[channel.name] = error
        return try await service.uninterrupted { try await service.giveBack(batch, after: 60) }
      }
    }
  }
}
