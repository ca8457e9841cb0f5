import Coffer
import CofferTerminal
import Foundation
import WatchifyKit

/// The checks of the channels that were added, which send nothing.
struct ChannelChecks {
  let session: Session

  func all() async -> [Finding] {
    guard let channels = try? await session.service.channels(), let first = channels.first else { return [] }
    var findings: [Finding] = []
    for channel in channels {
      guard let state = try? await session.service.channelState(channel.name) else { continue }
      findings.append(Self.channel(channel, state))
      if state.missed > 0 { findings.append(Self.missed(channel, state)) }
    }
    return findings + [await secrets(first)]
  }

  private static func channel(_ channel: ChannelDTO, _ state: ChannelState) -> Finding {
    let target = "\(channel.kind.rawValue) at \(channel.host.oneLine(limit: 60))"
    let test = "'watchify notify test \(channel.name)' tries now."
    let last = state.lastSuccess.map { "last delivery \(Moment.text($0))" }
    guard !state.isFailing else {
      let since = last.map { ", \($0)" } ?? ""
      let next = state.nextAttempt.map { "Next attempt \(Moment.text($0)). " } ?? ""
      return .problem(
        channel.name, "\(target)\(since): \((state.reason ?? "It fails.").oneLine(limit: 300))", fix: next + test)
    }
    let digest = channel.digest.map { ", daily at \($0)" } ?? ""
    return .ok(channel.name, "\(target)\(digest), \(last ?? "nothing delivered yet: \(test)")")
  }

  private static func missed(_ channel: ChannelDTO, _ state: ChannelState) -> Finding {
    .warning(
      channel.name, "\(counted(state.missed, "change")) could not be delivered for too long.",
      fix: "The next message states the number; 'watchify activity' shows them.")
  }

  private func secrets(_ channel: ChannelDTO) async -> Finding {
    do {
      guard try await session.secrets().secret(of: channel.id) != nil else {
        return .problem(
          "secrets", "The secret of '\(channel.name)' is missing.",
          fix: "'watchify notify remove \(channel.name)', and add it again.")
      }
      return .ok("secrets", "the addresses and tokens of channels can be read")
    } catch {
      let error = CommandError(error)
      return .problem("secrets", error.message, fix: error.advice.isEmpty ? "Try again." : error.advice)
    }
  }
}
