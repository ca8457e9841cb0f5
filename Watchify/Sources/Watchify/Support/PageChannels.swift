import Foundation
import WatchifyKit
import WatchifyWeb

/// The channels for notifications, as the page shows and tests them: those of this device that the settings select, and
/// those that were added by name.
actor PageChannels {
  /// The time for which a state of this device's channels is kept: each question is a message to another process.
  private static let lifetime = Duration.seconds(20)

  private let own: [any NotificationChannel]
  private let secrets: ChannelSecrets
  private let session: Session
  private var known: (at: ContinuousClock.Instant, chosen: [String], states: [SiteHealth.Channel])?

  init(_ own: [any NotificationChannel], _ secrets: ChannelSecrets, _ session: Session) {
    self.own = own
    self.secrets = secrets
    self.session = session
  }

  /// Returns the states of all channels. Nothing is sent.
  func states() async -> [SiteHealth.Channel] {
    let preferences = try? await NotificationPreferences(from: session.container.settings)
    let isEnabled = preferences?.isEnabled == true
    var states = await ownStates(isEnabled ? preferences?.channels ?? [] : [])
    for channel in (try? await session.service.channels()) ?? [] {
      guard isEnabled, let state = try? await session.service.channelState(channel.name) else {
        states.append(SiteHealth.Channel(name: channel.name, isWorking: nil))
        continue
      }
      states.append(
        SiteHealth.Channel(name: channel.name, isWorking: !state.isFailing, detail: Self.detail(channel, state)))
    }
    return states
  }

  private func ownStates(_ chosen: [String]) async -> [SiteHealth.Channel] {
    if let known, known.chosen == chosen, known.at + Self.lifetime > .now { return known.states }
    var states: [SiteHealth.Channel] = []
    for channel in own {
      guard chosen.contains(channel.name) else {
        states.append(SiteHealth.Channel(name: channel.name, isWorking: nil))
        continue
      }
      switch await channel.availability() {
      case .available(let detail):
        states.append(SiteHealth.Channel(name: channel.name, isWorking: true, detail: detail))
      case .unavailable(let reason):
        // Its absence is no problem where news is on the page.
        let isWorking = channel.name == "desktop" ? nil : false
        states.append(SiteHealth.Channel(name: channel.name, isWorking: isWorking, detail: reason))
      }
    }
    known = (.now, chosen, states)
    return states
  }

  private static func detail(_ channel: ChannelDTO, _ state: ChannelState) -> String {
    let digest = channel.digest.map { ", daily at \($0)" } ?? ""
    let target = "\(channel.kind.rawValue) at \(channel.host)\(digest)"
    guard state.isFailing else {
      return "\(target), \(state.lastSuccess.map { "delivered \(Moment.text($0))" } ?? "nothing delivered yet")"
    }
    let next = state.nextAttempt.map { " Next attempt \(Moment.text($0))." } ?? ""
    return "\(target): \(state.reason ?? "It fails.")\(next)"
  }

  /// Sends a test message through every channel in use, all at the same time, and returns the results as sentences.
  func test() async -> [String] {
    let chosen = (try? await NotificationPreferences(from: session.container.settings))?.channels ?? []
    let added = ((try? await session.service.channels()) ?? []).map { $0.delivery(secrets: secrets) }
    let channels = own.filter { chosen.contains($0.name) } + added
    guard !channels.isEmpty else {
      return ["No channel is selected: the setting notificationChannels selects the desktop."]
    }
    let isAdded = Set(added.map(\.name))
    let service = session.service
    let results = await withTaskGroup(of: (Int, String).self) { group in
      for (index, channel) in channels.enumerated() {
        group.addTask {
          (index, await Self.test(channel, service, isAdded.contains(channel.name) ? "accepted" : "shown"))
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    known = nil
    return results.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private static func test(
    _ channel: any NotificationChannel, _ service: StoreService, _ success: String
  ) async -> String {
    do {
      try await channel.deliver(NotificationMessage.test)
    } catch {
      return "\(channel.name): \((error as? ChannelError)?.reason ?? "The delivery was interrupted.")"
    }
    // That it arrived counts, even if the end of its pause cannot be recorded now.
    try? await service.recordSuccess(of: channel.name)
    return "\(channel.name): \(success)"
  }
}
