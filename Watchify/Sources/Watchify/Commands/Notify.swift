import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify notify test`: delivers a test notification through every selected channel.
func notify(_ invocation: Invocation) async throws -> ExitStatus {
  guard try invocation.text(at: 0) == "test" else {
    throw UsageError("'notify' takes one word: watchify notify test.", .notify)
  }
  return try await withSession(invocation) { session in
    let preferences = try await NotificationPreferences(from: session.container.settings)
    let content = NotificationContent(
      title: "Watchify", body: "This is a test notification.", threadIdentifier: "test", priority: .active)
    let asJSON = invocation.has(.json)
    var results: [(name: String, failure: String?)] = []
    for channel in allChannels(session, { if !asJSON { try printLine(String($0.dropLast())) } })
    where preferences.channels.contains(channel.name) {
      do {
        try await channel.deliver(content)
        results.append((channel.name, nil))
      } catch let error as ChannelError {
        results.append((channel.name, error.reason))
      }
    }
    if asJSON {
      let list = results.map { result in
        JSON.object([
          ("channel", .text(result.name)), ("wasShown", .flag(result.failure == nil)),
          ("message", .optional(result.failure)),
        ])
      }
      try print(.object([("channels", .list(list)), ("isEnabled", .flag(preferences.isEnabled))]))
    } else {
      try tell(results, isEnabled: preferences.isEnabled)
    }
    return !results.isEmpty && results.allSatisfy { $0.failure == nil } ? .ok : .failure
  }
}

private func tell(_ results: [(name: String, failure: String?)], isEnabled: Bool) throws {
  for result in results {
    guard let failure = result.failure else {
      try printLine("\(result.name): shown")
      continue
    }
    try Output.error.note(failure.oneLine(), after: "\(result.name):")
  }
  if results.isEmpty {
    try Output.error.note(
      "No channel is selected: 'watchify settings notificationChannels desktop' selects one.", after: "watchify:")
  } else if results.contains(where: { $0.failure != nil }) {
    try Output.error.note("Run 'watchify doctor' for advice.")
  }
  if !isEnabled {
    try Output.error.note(
      "News is still not delivered: notifications are switched off. "
        + "'watchify settings notificationsEnabled true' switches them on.")
  }
}
