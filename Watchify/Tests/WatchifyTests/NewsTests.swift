import CofferTesting
import Foundation
import ReplayShop
import Testing

@Suite("sync, activity, read", .serialized)
struct NewsTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A store is synced at most once a minute; a read without news prints nothing new")
  func floor() async throws {
    #expect(try await sandbox.watchify("sync").status == 3)
    try await sandbox.follow()
    let early = try await sandbox.watchify("sync", "--now")
    #expect(early.status == 75 && early.text.isEmpty)
    #expect(early.errors.contains(/Tarn & Lotus: wait \d\d? s:/), "\(early.errors)")
    let json = try await sandbox.watchify("sync", "Tarn", "--json")
    let store = try #require((json.json()["stores"] as? [NSDictionary])?.first)
    #expect(json.status == 75 && store["error"] as? String == "rateLimited")
    #expect((1...60).contains(try #require(store["retryAfter"] as? Int)))
    try await sandbox.forgetAttempts()
    let quiet = try await sandbox.watchify("sync")
    #expect(quiet.status == 0 && quiet.text == "Tarn & Lotus: nothing new\n" && quiet.errors.isEmpty)
  }

  @Test("News is one sentence, one row for each product, and one notification")
  func news() async throws {
    try await sandbox.follow()
    #expect(try await sandbox.watchify("settings", "notificationChannels", "terminal").status == 0)
    try sandbox.shop.advance()
    try sandbox.shop.advance()
    try await sandbox.forgetAttempts()
    let ended = try await sandbox.watchify("sync")
    let summary = "Tarn & Lotus: Tarn Cork Mat: $67.90, was $97.00 · 1 price drop, 1 back in stock"
    #expect(ended.lines == [summary + ", 1 list price changed", summary], "\(ended.text)")
    let activity = try await sandbox.watchify("activity")
    #expect(activity.lines.count == 3 && activity.lines[0] == "Today", "\(activity.text)")
    #expect(activity.text.contains("Lotus Folding Mat  back in stock: Regular / Sea"))
    #expect(activity.text.contains("price down $97.00 -> $67.90 (-30 %): Short / Chalk, Regular / Chalk, Long / Chalk"))
  }

  @Test("Filters of activity combine, in text and JSON")
  func filters() async throws {
    try await sandbox.followWithNews()
    let groups = try await sandbox.watchify("activity", "--type", "stock", "--json").json()["groups"] as? [NSDictionary]
    let event = try #require((groups?.first?["events"] as? [NSDictionary])?.first)
    #expect(groups?.count == 1 && event["type"] as? String == "backInStock")
    #expect(event["variant"] as? String == "Regular / Sea")
    let drop = try await sandbox.watchify(
      "activity", "--type", "priceDropped", "--since", "today", "--store", "Tarn", "--unread", "--json")
    let drops = try #require((drop.json()["groups"] as? [NSDictionary])?.first?["events"] as? [NSDictionary])
    #expect(drops.count == 3 && drops.allSatisfy { $0["oldPrice"] as? String == "97.00" })
    #expect(drops[0]["newPrice"] as? String == "67.90" && drops[0]["percent"] as? Double == -30)
    #expect(drops[0]["currency"] as? String == "USD")
    #expect(try await sandbox.watchify("activity", "--since", "2999-01-01").text.contains("No matching news"))
    for wrong in ["--since yesteryear", "--since 2026-02-30", "--type sale", "--limit 0"] {
      #expect(try await sandbox.bash("watchify activity \(wrong)").status == 2, "\(wrong)")
    }
    #expect(try await sandbox.watchify("activity", "--limit", "1").lines.count == 2)
  }

  @Test("Exactly the named events are marked as read")
  func read() async throws {
    try await sandbox.followWithNews()
    let groups = try await sandbox.watchify("activity", "--json").json()["groups"] as? [NSDictionary]
    let stock = try #require(groups?.first { $0["category"] as? String == "stock" })
    let id = try #require((stock["events"] as? [NSDictionary])?.first?["id"] as? String)
    #expect(try await sandbox.watchify("read", String(id.prefix(8)).lowercased()).text.contains("1 piece of news"))
    let price = try await sandbox.watchify("read", "--type", "priceDropped", "--json").json()
    #expect(price["marked"] as? Int == 1 && price["unread"] as? Int == 1, "three variants are one piece of news")
    #expect(try await sandbox.watchify("activity", "--unread", "--type", "stock").text.contains("No matching news"))
    #expect(try await sandbox.watchify("read", "--all").text == "Marked 1 piece of news as read; 0 unread.\n")
    let unknown = try await sandbox.watchify("read", "zzzz")
    #expect(unknown.status == 3 && unknown.errors.contains("Nothing was marked"))
    #expect(try await sandbox.watchify("read").status == 2)
    #expect(try await sandbox.watchify("read", "--all", "abc").status == 2)
  }

  @Test("A failure states what is still valid; a refusal pauses all stores")
  func failures() async throws {
    try await sandbox.follow()
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .password)
    let closed = try await sandbox.watchify("sync")
    let words = closed.errors.replacing("\n", with: " ")
    #expect(closed.status == 1 && words.contains(/requires a password from its visitors. Showing data from \d\d:\d\d./))
    #expect(try await sandbox.watchify("products", "Tarn").text.contains("48 products"))
    let doctor = try await sandbox.watchify("doctor", "--json")
    let findings = try #require(doctor.json()["findings"] as? [NSDictionary])
    let finding = try #require(findings.first { $0["subject"] as? String == "Tarn & Lotus" })
    #expect(doctor.status == 1 && finding["verdict"] as? String == "problem" && finding["fix"] is String)
    try await sandbox.forgetAttempts()
    sandbox.shop.set(mode: .status(429, retryAfter: "60"))
    let refused = try await sandbox.watchify("sync")
    #expect(refused.status == 75 && refused.errors.contains("has asked for a pause"), "\(refused.errors)")
    let asked = sandbox.shop.requests.count
    sandbox.shop.set(mode: nil)
    try await sandbox.forgetAttempts()
    #expect(try await sandbox.watchify("sync").status == 75)
    #expect(try await sandbox.watchify("add", "127.0.0.1:1").status == 75)
    #expect(sandbox.shop.requests.count == asked)
    #expect(try await sandbox.watchify("list").text.contains("127.0.0.1:\(sandbox.shop.port ?? 0) paused until"))
    let pauses = try await sandbox.watchify("list", "--json").json()["rests"] as? [NSDictionary]
    #expect(pauses?.first?["store"] as? String == "127.0.0.1:\(sandbox.shop.port ?? 0)")
    #expect(try await sandbox.watchify("doctor").text.contains("watchify resume"))
    let ended = try await sandbox.watchify("resume", "Tarn")
    #expect(ended.status == 0 && ended.text.contains("has ended: syncing resumes."), "\(ended.text)")
    #expect(try await sandbox.watchify("resume").text == "No store is paused.\n")
    #expect(try await sandbox.watchify("resume", "Tarn").text.contains("is not paused."))
    #expect(try await sandbox.watchify("resume", "Nobody").status == 3)
    #expect(try await sandbox.watchify("sync").status == 0)
  }
}
