import CofferTesting
import Foundation
import ReplayShop
import Testing

@Suite("watch", .serialized)
struct WatchTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Plain lines in a pipe; other commands at the same time; SIGTERM ends it")
  func beside() async throws {
    try await sandbox.follow()
    try await sandbox.watchify("settings", "notificationChannels", "terminal")
    try sandbox.shop.advance()
    try await sandbox.forgetAttempts()
    let watch = try sandbox.startWatchify("watch")
    try await eventually("the first round") { try watch.output().contains("next sync") }
    let text = try watch.output()
    #expect(text.contains("Watching 1 store; terminal: ok. Ctrl-C ends."), "\(text)")
    #expect(text.contains("Tarn Cork Mat: price down $97.00 -> $67.90 (-30 %)"), "\(text)")
    #expect(text.contains("notified: Tarn & Lotus: Tarn Cork Mat: $67.90, was $97.00"), "\(text)")
    #expect(!text.contains("\u{1B}") && !text.contains("\r"))

    let list = try await sandbox.watchify("list", "--json").json()
    #expect(list["isWatched"] as? Bool == true && list["nextSync"] is String)
    #expect(try await sandbox.watchify("read", "--all").status == 0)
    #expect(try await sandbox.watchify("settings", "quietHours", "22:00-07:30").status == 0)
    #expect(try await sandbox.watchify("sync").status == 75)
    let second = try await sandbox.watchify("watch")
    #expect(second.status == 1 && second.errors.contains("Another process watches the stores"))

    watch.signal(SIGTERM)
    let ended = try await watch.ended()
    #expect(ended.status == 0 && ended.errors.isEmpty && ended.lines.last == "Ended. Stored data is kept.")
    #expect(try await sandbox.watchify("list", "--json").json()["isWatched"] as? Bool == false)
  }

  @Test("A signal in the middle of a read ends it; stored data is kept")
  func middle() async throws {
    try await sandbox.follow()
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .stalled(after: 100))
    let asked = sandbox.shop.requests.count
    let watch = try sandbox.startWatchify("watch", "--json")
    try await eventually("a read that hangs") { sandbox.shop.requests.count > asked }
    watch.signal(SIGINT)
    let ended = try await watch.ended()
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(try ended.jsonLines().first?["status"] as? String == "syncing")
    sandbox.shop.set(mode: nil)
    let list = try await sandbox.watchify("list")
    #expect(list.text.contains("48  USD (US)") && list.status == 0)
  }

  @Test("Without a store it prints advice and waits")
  func empty() async throws {
    let watch = try sandbox.startWatchify("watch")
    try await eventually("the sentence") { try watch.output().contains("You follow no store yet") }
    watch.signal(SIGTERM)
    #expect(try await watch.ended().status == 0)
  }

  @Test("On a terminal a line at the bottom shows the next sync")
  func terminal() async throws {
    try await sandbox.follow()
    try await sandbox.forgetAttempts()
    let watch = try sandbox.terminal("watchify watch")
    try await eventually("the line") { try watch.output().contains("next sync") }
    let text = try watch.output()
    #expect(text.contains("\r") && text.contains("synced ") && text.contains("desktop: does not work"), "\(text)")
    watch.signal(SIGTERM)
    _ = try await watch.ended()
    try await eventually("the end of the watch") {
      try await sandbox.watchify("list", "--json").json()["isWatched"] as? Bool == false
    }
  }
}
