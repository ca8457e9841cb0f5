import CofferRouter
import CofferSQLite
import Foundation

/// Delivers notifications of changes, one per store, through the channels selected in the settings.
///
/// Changes are written to an outbox in the database together with their events, and are delivered from there, so a
/// failed delivery is retried later, and a delivered change is not delivered again by another process. Channels are
/// independent: each delivers at its own pace, and one that hangs delays no other. A failing channel never fails a
/// sync; its error is in ``lastFailures`` and, across restarts, in ``StoreService/channelState(_:)``.
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
  private var secrets: ChannelSecrets?
  /// The channels that were added by name, with the values from which they were made.
  private var added: [(channel: ChannelDTO, delivery: any NotificationChannel)] = []
  /// The last check of permission and settings, which the next one awaits.
  private var check: Task<Turn?, any Error>?
  /// The last delivery of each channel, which its next one awaits.
  private var deliveries: [(channel: String, task: Task<Void, any Error>)] = []

  /// The last error of each channel whose last delivery failed, by the channel's name.
  public private(set) var lastFailures: [String: ChannelError] = [:]

  /// Creates a service without an outbox and channels; ``attach(_:channels:secrets:question:)`` adds them.
  public init() {}

  /// Sets the store service and the channels.
  /// - Parameters:
  ///   - service: the service with the outbox and the settings.
  ///   - channels: the available channels of this device; the settings select among them.
  ///   - secrets: the secrets of the channels that were added to the database, which are always selected; if `nil`,
  ///     those channels do not deliver, and their news stays in the outbox.
  ///   - question: prompts the user for permission when there is something to deliver for the first time. Linux has no
  ///     system prompt: without a question, permission is granted as soon as a channel is available.
  public func attach(
    _ service: StoreService, channels: [any NotificationChannel], secrets: ChannelSecrets? = nil,
    question: Question? = nil
  ) {
    self.service = service
    self.channels = channels
    self.secrets = secrets
    added = []
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
    for channel in (try? await selected(chosen)) ?? [] {
      if case .available = await channel.availability() { return channel }
    }
    return nil
  }

  /// Returns the channels that deliver: those of this device that are selected, and the added ones.
  private func selected(_ names: [String]) async throws -> [any NotificationChannel] {
    let own = channels.filter { names.contains($0.name) }
    guard let secrets, let service else { return own }
    let current = try await service.channels()
    // A channel keeps its connections and its secret for as long as it is unchanged.
    let kept = added.filter { current.contains($0.channel) }
    added = current.map { channel in
      kept.first { $0.channel == channel } ?? (channel: channel, delivery: channel.delivery(secrets: secrets))
    }
    return own + added.map(\.delivery)
  }

  // MARK: Delivery

  /// The channels that may deliver now, and the settings.
  private struct Turn: Sendable {
    var channels: [any NotificationChannel]
    var preferences: NotificationPreferences
  }

  /// Delivers notifications as ``deliver(_:)`` does. A change whose delivery fails stays in the outbox for
  /// ``sendPending()``; before ``attach(_:channels:secrets:question:)``, and without the outbox, nothing is delivered.
  public func send(for changes: [ChangeEventDTO]) async { try? await deliver(changes) }

  /// Delivers notifications of the given changes, one per store, and returns when the channels have accepted them or
  /// failed.
  ///
  /// Each change is delivered once by each channel, whatever process delivers it, and a second time only if the outcome
  /// of the first is unknown. A change that cannot be delivered now, because a channel fails or quiet hours are in
  /// effect, stays in the outbox for ``sendPending()``. A change that is not in the database is delivered at once or
  /// not at all. Requests permission when there is something to deliver for the first time.
  /// - Throws: ``WatchifyError/noDatabase`` before ``attach(_:channels:secrets:question:)``; `StorageError` if the
  ///   outbox cannot be read. A failing channel is no error: see ``lastFailures``.
  public func deliver(_ changes: [ChangeEventDTO]) async throws {
    guard let service else { throw WatchifyError.noDatabase }
    guard !changes.isEmpty else { return }
    let unknown = try await service.unknown(changes)
    guard let turn = try await turn(service, orFor: unknown) else { return }
    try await each(turn.channels) { channel in
      for changes in Self.grouped(unknown.filter(turn.preferences.wants)) {
        guard let message = try await service.message(changes) else { continue }
        guard await self.deliver(message, through: channel) == nil else { break }
      }
      try await self.deliver(through: channel, turn.preferences, service, only: Set(changes.map(\.id)))
    }
  }

  /// Delivers everything in the outbox that is due. Requests permission when there is something to deliver for the
  /// first time.
  /// - Throws: The errors of ``deliver(_:)``.
  public func sendPending() async throws {
    guard let service else { throw WatchifyError.noDatabase }
    guard let turn = try await turn(service) else { return }
    try await each(turn.channels) { channel in
      try await self.deliver(through: channel, turn.preferences, service)
      try await self.tellMissed(through: channel, service)
    }
  }

  /// Returns the channels that may deliver now; `nil` if the settings forbid notifications now or nothing is due.
  /// Checks run one after another, so that permission is requested once.
  private func turn(_ service: StoreService, orFor unknown: [ChangeEventDTO] = []) async throws -> Turn? {
    let before = check
    let task = Task { () -> Turn? in
      _ = await before?.result
      let preferences = try await NotificationPreferences(from: service.modelContainer.settings)
      guard preferences.isEnabled, preferences.quietHours.end(at: service.now()) == nil else { return nil }
      let channels = try await self.selected(preferences.channels)
      var isNeeded = unknown.contains(where: preferences.wants)
      if !isNeeded { isNeeded = try await service.hasNews(for: channels.map(\.name)) }
      guard isNeeded, await self.isAuthorized() else { return nil }
      return Turn(channels: channels, preferences: preferences)
    }
    check = task
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Calls `body` for all channels at the same time, each after its previous delivery has ended; returns when all have
  /// ended, and throws the first error.
  private func each(
    _ channels: [any NotificationChannel],
    _ body: @escaping @MainActor @Sendable (any NotificationChannel) async throws -> Void
  ) async throws {
    let tasks = channels.map { channel in
      let before = deliveries.first { $0.channel == channel.name }?.task
      let task = Task {
        _ = await before?.result
        try await body(channel)
      }
      deliveries.removeAll { $0.channel == channel.name }
      deliveries.append((channel: channel.name, task: task))
      return task
    }
    try await withTaskCancellationHandler {
      var results: [Result<Void, any Error>] = []
      for task in tasks { results.append(await task.result) }
      for result in results { try result.get() }
    } onCancel: {
      for task in tasks { task.cancel() }
    }
  }

  /// Returns the changes by store, and those of wishes by wish.
  private static func grouped(_ changes: [ChangeEventDTO]) -> [[ChangeEventDTO]] {
    Array(Dictionary(grouping: changes) { $0.wishId ?? $0.storeId }.values)
  }

  /// Returns the date of the next possible delivery; `nil` if the outbox is empty.
  func nextTurn() async throws -> Date? {
    guard let service else { return nil }
    let preferences = try await NotificationPreferences(from: service.modelContainer.settings)
    guard preferences.isEnabled else { return nil }
    let names = try await selected(preferences.channels).map(\.name)
    guard let turn = try await service.nextTurn(of: names) else { return nil }
    return max(turn, preferences.quietHours.end(at: service.now()) ?? turn)
  }

  private func isAuthorized() async -> Bool {
    switch await authorizationStatus() {
    case .authorized: true
    case .denied: false
    case .notDetermined: await requestPermission()
    }
  }

  /// Delivers what is due for a channel, store by store or as one digest, until a delivery fails. A message that the
  /// server refuses for good does not hold back the others.
  /// - Parameter only: the identifiers of the changes; `nil` for all.
  private func deliver(
    through channel: any NotificationChannel, _ preferences: NotificationPreferences, _ service: StoreService,
    only ids: Set<UUID>? = nil
  ) async throws {
    let isDigest = channel.digest != nil
    while !Task.isCancelled,
      let batch = try await service.claimNews(for: channel.name, only: ids, ofAllStores: isDigest, preferences)
    {
      // Nothing of it is true any more, or its kinds were switched off in the meantime.
      guard let message = try await service.message(batch.events) else {
        try await service.finish(batch, delivered: false)
        continue
      }
      if let error = await deliver(message, through: channel) {
        try await service.uninterrupted { try await service.giveBack(batch, error, channel.retries) }
        guard error.isAboutMessage else { return }
        continue
      }
      try await service.uninterrupted { try await service.finish(batch) }
    }
  }

  /// Delivers the number of changes that were given up while a channel did not work.
  private func tellMissed(through channel: any NotificationChannel, _ service: StoreService) async throws {
    guard !Task.isCancelled, let count = try await service.claimMissed(channel.name) else { return }
    let error = await deliver(.missed(count), through: channel)
    try await service.uninterrupted {
      guard let error else { return try await service.finishMissed(channel.name, count) }
      try await service.giveBackMissed(channel.name, count, error, channel.retries)
    }
  }

  /// Delivers one message; stores the error, and returns it, if the channel fails.
  private func deliver(_ message: NotificationMessage, through channel: any NotificationChannel) async -> ChannelError?
  {
    do {
      // A server that answers slowly is progress as well.
      LoopPulse.current?.step(within: .seconds(600))
      try await channel.deliver(message)
      lastFailures[channel.name] = nil
      return nil
    } catch {
      let error =
        error as? ChannelError
        ?? ChannelError("The delivery was interrupted.", isTemporary: true, isUncertain: true)
      lastFailures[channel.name] = error
      return error
    }
  }
}

extension StoreService {
  /// Returns the message about changes; `nil` if there are none.
  func message(_ changes: [ChangeEventDTO]) async throws -> NotificationMessage? {
    guard let content = NotificationContent(of: changes) else { return nil }
    return NotificationMessage(content: content, events: changes, links: try await productLinks(of: changes))
  }
}
