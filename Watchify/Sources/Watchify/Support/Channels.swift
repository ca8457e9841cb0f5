import CofferTerminal
import Foundation
import WatchifyKit

/// Every channel that there is; the settings choose among them.
/// - Parameter write: takes the terminal's lines; without it that channel is not there, and its news waits.
func allChannels(
  _ session: Session, _ write: (@Sendable (String) throws -> Void)?
) -> [any NotificationChannel] {
  let desktop = DesktopChannel(container: session.container)
  guard let write else { return [desktop] }
  return [desktop, TerminalChannel(isTerminal: Output.standard.isTerminal, write: write)]
}

/// "desktop: ok (gnome-shell 43.9)", "desktop: off (no session bus)"
func channelSummary(_ session: Session) async throws -> String {
  let preferences = try await NotificationPreferences(from: session.container.settings)
  guard preferences.isEnabled else { return "notifications: switched off" }
  guard !preferences.channels.isEmpty else { return "notifications: no channel" }
  var parts: [String] = []
  for channel in allChannels(session, { _ in }) where preferences.channels.contains(channel.name) {
    switch await channel.availability() {
    case .available(let detail):
      parts.append(channel.name == "desktop" ? "desktop: ok (\(detail.oneLine(limit: 40)))" : "\(channel.name): ok")
    case .unavailable: parts.append("\(channel.name): does not work, see 'watchify doctor'")
    }
  }
  return parts.joined(separator: ", ")
}
