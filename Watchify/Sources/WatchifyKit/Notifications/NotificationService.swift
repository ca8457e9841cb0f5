import Coffer
import CofferDatabase
import Foundation

/// Delivers notifications of changes, one per store, through the channels selected in the settings.
///
/// Changes are written to an outbox in the database together with their events, and are delivered from there, so a
/// failed delivery is retried later, and a delivered change is not delivered again by another process. A failing
/// channel never fails a sync; its error is in ``lastFailures``.
///
/// ```swift
/// NotificationService.shared.attach(service, channels: [DesktopChannel()])
/// try await NotificationService.shared.send(for: news)
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
  /// The last delivery, which the next one awaits.
  private var delivery: Task<Void, any Error>?

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

  /// Delivers notifications of the given changes, one per store, and returns when the channels have accepted them or
  /// failed.
  ///
  /// Each change is delivered at most once by each channel, whatever process delivers it. A change that cannot be
  /// delivered now, because a channel fails or quiet hours are in effect, stays in the outbox for ``sendPending()``. A
  /// change that is not in the database is delivered at once or not at all. Requests permission when there is
  /// something to deliver for the first time.
  /// - Throws: ``WatchifyError/noDatabase`` before ``attach(_:channels:question:)``; `StorageError` if the outbox
  ///   cannot be read. A failing channel is no error: see ``lastFailures``.
  public func send(for changes: [ChangeEventDTO]) async throws {
    guard !changes.isEmpty else { return try await alone { _ in } }
    try await alone { service in
      let unknown = try await service.unknown(changes)
      try await self.deliver(from: service) { channel, preferences in
        for content in Self.contents(of: unknown.filter(preferences.wants)) {
          guard try await self.deliver(content, through: channel) else { break }
        }
        try await self.deliver(through: channel, preferences, service, only: Set(changes.map(\.id)))
      } isNeeded: { preferences in
        if unknown.contains(where: preferences.wants) { return true }
        return try await service.hasNews(for: self.names(preferences))
      }
    }
  }

  /// Delivers everything in the outbox that is due. Requests permission when there is something to deliver for the
  /// first time.
  /// - Throws: The errors of ``send(for:)``.
  public func sendPending() async throws {
    try await alone { service in
      try await self.deliver(from: service) { channel, preferences in
        try await self.deliver(through: channel, preferences, service)
      } isNeeded: { preferences in
        try await service.hasNews(for: self.names(preferences))
      }
    }
  }

  /// Calls `deliver` for each selected channel, unless the settings forbid notifications now.
  private func deliver(
    from service: StoreService,
    _ deliver: @MainActor (any NotificationChannel, NotificationPreferences) async throws -> Void,
    isNeeded: @MainActor (NotificationPreferences) async throws -> Bool
  ) async throws {
    let preferences = try await NotificationPreferences(from: service.modelContainer.settings)
    guard preferences.isEnabled, preferences.quietHours.end(at: service.now()) == nil, try await isNeeded(preferences),
      await isAuthorized()
    else { return }
    for channel in channels where preferences.channels.contains(channel.name) {
      try await deliver(channel, preferences)
    }
  }

  /// Runs a delivery after the one before it has ended, so that no two deliveries overlap.
  private func alone(_ body: @escaping @MainActor @Sendable (StoreService) async throws -> Void) async throws {
    guard let service else { throw WatchifyError.noDatabase }
    let before = delivery
    let task = Task {
      _ = await before?.result
      try await body(service)
    }
    delivery = task
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Returns one notification per store.
  private static func contents(of changes: [ChangeEventDTO]) -> [NotificationContent] {
    Dictionary(grouping: changes, by: \.storeId).values.compactMap(NotificationContent.init)
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
  /// - Parameter only: the identifiers of the changes; `nil` for all.
  private func deliver(
    through channel: any NotificationChannel, _ preferences: NotificationPreferences, _ service: StoreService,
    only ids: Set<UUID>? = nil
  ) async throws {
    while let batch = try await service.claimNews(for: channel.name, only: ids) {
      // Kinds of changes that were switched off in the meantime are not delivered.
      guard let content = NotificationContent(of: batch.events.filter(preferences.wants)) else {
        try await service.finish(batch)
        continue
      }
      guard try await deliver(content, through: channel) else {
        return try await service.uninterrupted { try await service.giveBack(batch, after: 60) }
      }
      try await service.uninterrupted { try await service.finish(batch) }
    }
  }

  /// Delivers one notification; returns `false` and stores the error if the channel fails.
  private func deliver(_ content: NotificationContent, through channel: any NotificationChannel) async throws -> Bool {
    do {
      try await channel.deliver(content)
      lastFailures[channel.name] = nil
      return true
    } catch let error as ChannelError {
      lastFailures[channel.name] = error
      return false
    }
  }
}
