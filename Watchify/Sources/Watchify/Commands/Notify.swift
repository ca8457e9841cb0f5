import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify notify`: adds, lists, removes and tests channels.
func notify(_ invocation: Invocation) async throws -> ExitStatus {
  let name = try invocation.text(at: 1)
  switch try invocation.text(at: 0) {
  case "test":
    guard invocation.operands.count <= 2 else { throw Command.mistake("'notify test' takes one channel.", .notify) }
    return try await testChannels(invocation, name)
  case "list":
    guard name == nil else { throw Command.mistake("'notify list' takes no channel.", .notify) }
    return try await listChannels(invocation)
  case "add":
    guard let name else { throw Command.mistake("'notify add' takes a NAME for the channel.", .notify) }
    return try await withSession(invocation) { try await ChannelAddition(invocation, name).run($0) }
  case "remove":
    guard let name, invocation.operands.count == 2 else {
      throw Command.mistake("'notify remove' takes the NAME of a channel.", .notify)
    }
    return try await removeChannel(invocation, name)
  default: throw Command.mistake("'notify' takes add, list, remove or test: watchify notify test.", .notify)
  }
}

// MARK: Test

/// Sends a test message through one channel, or through every channel that is in use.
private func testChannels(_ invocation: Invocation, _ name: String?) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let preferences = try await NotificationPreferences(from: session.container.settings)
    let asJSON = invocation.has(.json)
    let secrets = try await session.secrets(asking: true)
    let own = allChannels(session, { if !asJSON { try printLine(String($0.dropLast())) } })
    let added = try await session.service.channels().map { $0.delivery(secrets: secrets) }
    var channels = own.filter { preferences.channels.contains($0.name) } + added
    if let name {
      channels = (own + added).filter { $0.name == name }
      guard !channels.isEmpty else { throw CommandError.noChannel(name) }
    }
    var results: [(name: String, failure: String?)] = []
    for channel in channels {
      do {
        try await channel.deliver(NotificationMessage.test)
        try await session.service.recordSuccess(of: channel.name)
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
      try tell(results, isEnabled: preferences.isEnabled, added: added.map(\.name))
    }
    return !results.isEmpty && results.allSatisfy { $0.failure == nil } ? .ok : .failure
  }
}

private func tell(_ results: [(name: String, failure: String?)], isEnabled: Bool, added: [String]) throws {
  for result in results {
    guard let failure = result.failure else {
      try printLine("\(result.name): \(added.contains(result.name) ? "accepted" : "shown")")
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

// MARK: List and remove

private func listChannels(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let channels = try await session.service.channels()
    let output = Output.standard
    var columns = Columns(.text, .left, .left, .left, .text, heading: ["NAME", "SHAPE", "HOST", "WHEN", "STATE"])
    var list: [JSON] = []
    for channel in channels {
      let state = try await session.service.channelState(channel.name)
      list.append(channel.json(state))
      columns.add([
        channel.name, channel.kind.rawValue, channel.host.oneLine(limit: 60),
        channel.digest.map { "daily \($0)" } ?? "at once", words(state),
      ])
    }
    if invocation.has(.json) {
      try output.writeLine(JSON.object([("channels", .list(list))]).line)
    } else if channels.isEmpty {
      try output.writeText("No channel was added: 'watchify notify add' adds a webhook or a mail server.")
    } else {
      try output.write(columns)
    }
    try output.flush()
    return .ok
  }
}

private func words(_ state: ChannelState) -> String {
  if state.isFailing {
    let next = state.nextAttempt.map { " Next attempt \(Moment.text($0))." } ?? ""
    return (state.reason ?? "It fails.").oneLine(limit: 200) + next
  }
  return state.lastSuccess.map { "delivered \(Moment.text($0))" } ?? "nothing delivered yet"
}

private func removeChannel(_ invocation: Invocation, _ name: String) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    guard let channel = try await session.service.channels().first(where: { $0.name == name }) else {
      throw CommandError.noChannel(name)
    }
    // The secret goes first: if its store is locked, the channel remains and the command can be repeated.
    try await session.secrets(asking: true).remove(channel.id)
    _ = try await session.service.removeChannel(name)
    if invocation.has(.json) {
      try print(.object([("removed", .text(name))]))
    } else {
      try printLine("Removed \(name), its secret and its undelivered news.")
    }
    return .ok
  }
}

extension ChannelDTO {
  /// The channel and its state as JSON, without its secret.
  fileprivate func json(_ state: ChannelState) -> JSON {
    .object([
      ("name", .text(name)), ("shape", .text(kind.rawValue)), ("host", .text(host)),
      ("daily", .optional(digest?.description)), ("allowsPrivate", .flag(options.allowsPrivate)),
      ("addedAt", .date(addedAt)), ("lastSuccess", .date(state.lastSuccess)), ("lastFailure", .date(state.lastFailure)),
      ("isFailing", .flag(state.isFailing)), ("reason", .optional(state.isFailing ? state.reason : nil)),
      ("nextAttempt", .date(state.nextAttempt)), ("waiting", .number(state.waiting)), ("missed", .number(state.missed)),
    ])
  }
}

extension CommandError {
  /// Creates the error for a channel that does not exist.
  static func noChannel(_ name: String) -> CommandError {
    CommandError(
      .notFound, "noChannel", "There is no channel '\(name.oneLine(limit: 40))'.",
      advice: "'watchify notify list' shows the added ones.")
  }
}
