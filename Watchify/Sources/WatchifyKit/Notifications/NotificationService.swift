import Coffer
import CofferDatabase
import Foundation

/// Tells people of news (document 2): one notification per store, through the channels that the settings name.
///
/// News waits in the database's outbox, written together with the events. ``send(for:)`` takes it from there, so that
/// what could not be told is told later, and what was told is not told again by another process. A fault of a channel
/// never fails a sync: it is in ``lastFailures``.
///
/// ```swift
/// NotificationService.shared.attach(service, channels: [DesktopChannel()])
/// await NotificationService.shared.send(for: news)
/// ```
@MainActor
public final class NotificationService {
  /// The one of the application.
  public static let shared = NotificationService()

  /// Asks the person whether they want to be notified; called once, when there is first news.
  public typealias Question = @MainActor @Sendable () async -> Bool

  private var service: StoreService?
  private var channels: [any NotificationChannel] = []
  private var question: Question?
  /// Who is delivering: two at once would only take turns.
  private var isDelivering = false

  /// Why each channel could not tell something last, by the channel's name.
  public private(set) var lastFailures: [String: ChannelError] = [:]

  /// A service without outbox and channels.
  public init() {}

  /// Says whose news is told, and how.
  /// - Parameters:
  ///   - service: has the outbox and the settings.
  ///   - channels: the ways to tell; the settings choose among them.
  ///   - question: asks the person, when there is first news; on Linux no system asks, so without a question the
  ///     first channel that can show anything is permission enough.
  public func attach(
    _ service: StoreService, channels: [any NotificationChannel], question: Question? = nil
  ) {
    self.service = service
    self.channels = channels
    self.question = question
  }

  // MARK: Permission

  /// Whether the person wants to be notified.
  public func authorizationStatus() async -> NotificationPermission {
    guard let settings = service?.modelContainer.settings else { return .notDetermined }
    return (try? await settings.get(StorageKeys.notificationPermission)) ?? .notDetermined
  }

  /// Asks for permission, and keeps the answer. While no channel works nothing is asked and nothing kept.
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

  // MARK: Telling

  /// Tells of everything that waits. `changes`, as the document has it, are among that: they were put down with their
  /// sync. Permission is asked when there is something to tell for the first time.
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

  /// When something that waits may be told; `nil` when nothing waits.
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

  /// Tells what waits for a channel, store by store, until it fails.
  private func deliver(
    through channel: any NotificationChannel, _ preferences: NotificationPreferences, _ service: StoreService
  ) async throws {
    while let batch = try await service.claimNews(for: channel.name) {
      // A kind that was switched off since it was put down is not told any more.
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
