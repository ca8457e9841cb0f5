import Foundation
import WatchifyKit

/// The line that states when stores were synced, when they are synced next and whether notifications work.
enum StateLine {
  /// Returns the line as a link to the health page.
  static func link(_ context: PageContext, isCurrent: Bool) -> HTML {
    let failing = context.stores.count { $0.lastSyncFailure != nil }
    return tag(.a, .href(Section.health.link), .set(.ariaCurrent, isCurrent ? "page" : nil)) {
      parts(context).joined(separator: " · ")
      if failing > 0 {
        " · "
        tag(.strong, .class("alert")) { failing == 1 ? "1 shop needs a look" : "\(failing) shops need a look" }
      }
    }
  }

  /// Returns clauses such as "synced 14:32", "next sync 15:02" and "desktop ok".
  static func parts(_ context: PageContext) -> [String] {
    guard !context.stores.isEmpty else { return ["No shop is followed yet"] }
    var parts: [String] = []
    let last = context.stores.compactMap(\.lastFetchedAt).max()
    parts.append(last.map { "synced \(context.moments.text($0))" } ?? "never synced")
    if let rest = context.rests.first(where: { $0.shop == nil }) {
      parts.append("paused until \(context.moments.text(rest.until))")
    } else if !context.health.isWatching {
      parts.append("automatic syncing is off")
    } else {
      parts.append(context.health.next.map { "next sync \(context.moments.text($0))" } ?? "syncing now")
    }
    parts += context.health.channels.map { "\($0.name) \(word($0))" }
    return parts
  }

  /// Returns the state of a channel in a word or two.
  static func word(_ channel: SiteHealth.Channel) -> String {
    switch channel.isWorking {
    case true?: "ok"
    case false?: "fails"
    case nil: channel.detail.isEmpty ? "off" : "not available"
    }
  }
}
