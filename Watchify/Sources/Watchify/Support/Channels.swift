import CofferTerminal
import Foundation
import WatchifyKit

/// Returns all available channels; the settings select among them.
/// - Parameter write: called with the lines of the terminal channel; if `nil`, there is no such channel, and its
///   notifications stay in the outbox.
func allChannels(
  _ session: Session, _ write: (@Sendable (String) throws -> Void)?
) -> [any NotificationChannel] {
  let desktop = DesktopChannel(container: session.container)
  guard let write else { return [desktop] }
  return [desktop, TerminalChannel(isTerminal: Output.standard.isTerminal, write: write)]
}

/// Returns where news goes besides the desktop, such as "the page" or "phone"; empty for nowhere.
func waysBesideDesktop(_ session: Session, _ preferences: NotificationPreferences) async throws -> [String] {
  let added = try await session.service.channels().map { $0.name.oneLine(limit: 40) }
  let page = WatchMark.look(beside: session.file).servesPage ? ["the page"] : []
  return added + preferences.channels.filter { $0 == "terminal" }.map { "the \($0)" } + page
}

/// Returns the state of the selected channels, such as "desktop: ok (gnome-shell 43.9)".
func channelSummary(_ session: Session) async throws -> String {
  let preferences = try await NotificationPreferences(from: session.container.settings)
  guard preferences.isEnabled else { return "notifications: switched off" }
  let added = try await session.service.channels()
  guard !preferences.channels.isEmpty || !added.isEmpty else { return "notifications: no channel" }
  let elsewhere = try await waysBesideDesktop(session, preferences)
  var parts: [String] = []
  for channel in allChannels(session, { _ in }) where preferences.channels.contains(channel.name) {
    switch await channel.availability() {
    case .available(let detail):
      parts.append(channel.name == "desktop" ? "desktop: ok (\(detail.oneLine(limit: 40)))" : "\(channel.name): ok")
    case .unavailable where channel.name == "desktop" && !elsewhere.isEmpty: parts.append("desktop: not available")
    case .unavailable: parts.append("\(channel.name): does not work, see 'watchify doctor'")
    }
  }
  for channel in added {
    let state = try await session.service.channelState(channel.name)
    let next = state.nextAttempt.map { ", next attempt \(Moment.text($0))" } ?? ", see 'watchify doctor'"
    parts.append("\(channel.name): \(state.isFailing ? "fails\(next)" : "ok")")
  }
  return parts.joined(separator: ", ")
}
