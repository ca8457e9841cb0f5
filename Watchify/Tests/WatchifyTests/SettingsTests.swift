import Coffer
import CofferRouter
import CofferTesting
import Foundation
import Testing
import WatchifyKit

@testable import Watchify

@Suite("settings, audit, notify, doctor", .serialized)
struct SettingsTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Every setting of the library can be shown and set")
  func complete() {
    #expect(Set(WatchifySetting.all.map(\.name)) == Set(WatchifySettings().allKeys.map(\.descriptor.name)))
  }

  @Test("A setting is set, checked, shown with its default and reset")
  func values() async throws {
    let list = try await sandbox.watchify("settings")
    #expect(list.lines.count == WatchifySetting.all.count)
    #expect(list.text.contains(/syncIntervalMinutes +30 +Minutes between/))
    let set = try await sandbox.watchify("settings", "syncIntervalMinutes", "60")
    #expect(set.text.contains("60 *") && set.text.contains("5 to 1,440; the default is 30"), "\(set.text)")
    let json = try await sandbox.watchify("settings", "syncintervalminutes", "--json").json()
    #expect(json["value"] as? Int == 60 && json["isDefault"] as? Bool == false && json["default"] as? String == "30")
    let audit = try await sandbox.watchify("audit")
    #expect(audit.status == 0 && audit.text.contains(/syncIntervalMinutes +\d+ B/))
    let reset = try await sandbox.watchify("settings", "syncIntervalMinutes", "--reset", "--json").json()
    #expect(reset["value"] as? Int == 30 && reset["isDefault"] as? Bool == true)
    for (key, value) in [
      ("priceDropThreshold", "At least 10%"), ("quietHours", "22:00-07:30"),
      ("notificationChannels", "desktop,terminal"),
      ("notifyImagesChanged", "on"), ("notificationPermission", "denied"),
    ] {
      let ended = try await sandbox.watchify("settings", key, value)
      #expect(ended.status == 0 && ended.text.contains(" *"), "\(key)")
    }
  }

  @Test("A wrong value is refused with what is allowed, and changes nothing")
  func wrong() async throws {
    let cases = [
      ("syncIntervalMinutes", "4", "a whole number of minutes, 5 to 1,440"), ("quietHours", "late", "22:00-07:30"),
      ("priceDropThreshold", "7", "10% or 25%"), ("notificationChannels", "pigeon", "desktop, terminal"),
      ("autoDeleteEvents", "maybe", "true or false"),
    ]
    for (key, value, words) in cases {
      let ended = try await sandbox.watchify("settings", key, value)
      #expect(ended.status == 2 && ended.errors.contains(words) && !ended.errors.contains(value + "'"), "\(key)")
    }
    let unknown = try await sandbox.watchify("settings", "quietHour")
    #expect(unknown.status == 2 && unknown.errors.contains("Did you mean 'quietHours'?"))
    #expect(!(try await sandbox.watchify("settings").text.contains("*")))
  }

  @Test("Without a desktop, the test and the doctor report it with advice")
  func noDesktop() async throws {
    let test = try await sandbox.watchify("notify", "test")
    #expect(test.status == 1 && test.errors.contains("desktop:") && test.errors.contains("watchify doctor"))
    let json = try await sandbox.watchify("notify", "test", "--json")
    let channel = try #require((json.json()["channels"] as? [NSDictionary])?.first)
    #expect(json.status == 1 && channel["wasShown"] as? Bool == false && channel["message"] is String)
    let doctor = try await sandbox.watchify("doctor")
    #expect(doctor.status == 1 && doctor.text.contains("PROBLEM  desktop"), "\(doctor.text)")
    try await sandbox.watchify("settings", "notificationChannels", "terminal")
    let shown = try await sandbox.watchify("notify", "test")
    #expect(shown.status == 0 && shown.lines.first == "Watchify: This is a test notification.", "\(shown.text)")
    #expect(try await sandbox.watchify("notify").status == 2)
    try await sandbox.follow()
    let healthy = try await sandbox.watchify("doctor")
    #expect(healthy.status == 0 && healthy.text.contains("1 warning."), "\(healthy.text)")
    #expect(healthy.text.contains("To do: Leave 'watchify watch' or 'watchify serve' running"))
  }

  @Test("The doctor states the number of days for which the outbox keeps news")
  func days() async throws {
    try await sandbox.followWithNews()
    let doctor = try await sandbox.watchify("doctor")
    #expect(
      doctor.text.contains("4 changes wait")
        && doctor.text.contains("After 16 days at the latest only their number is."),
      "\(doctor.text)")
    try await sandbox.sql("UPDATE outbox SET created_at = created_at - 383 * 3600000")
    #expect(try await sandbox.watchify("doctor").text.contains("4 changes wait"))
    try await sandbox.sql("DELETE FROM outbox WHERE event <> (SELECT min(event) FROM outbox)")
    #expect(try await sandbox.watchify("doctor").text.contains("1 change waits for delivery"))
    try await sandbox.sql("UPDATE outbox SET created_at = created_at - 2 * 3600000")
    try await sandbox.forgetAttempts()
    try await sandbox.watchify("sync")
    #expect(!(try await sandbox.watchify("doctor").text.contains(" for delivery through")))
  }
}
