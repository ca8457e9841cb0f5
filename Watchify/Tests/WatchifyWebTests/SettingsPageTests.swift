import CofferRouter
import Foundation
import FoundationXML
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

@Suite("The page of the settings", .serialized) struct SettingsPageTests {
  private func shown(_ name: String, _ bench: SiteBench) async throws -> WatchifySetting.Shown {
    try await #require(WatchifySetting.named(name)).read(bench.container.settings)
  }

  /// Returns what a browser sends for a form, as it is shown.
  private func form(_ document: XMLDocument, of group: String) throws -> [(name: String, value: String)] {
    let form = "//section[h2[@id='group-\(group)']]/form"
    let fields = try document.nodes(forXPath: "\(form)//input | \(form)//select").compactMap { $0 as? XMLElement }
    return try fields.compactMap { field in
      func value(_ name: String) -> String? { field.attribute(forName: name)?.stringValue }
      guard let name = value("name"), value("type") != "checkbox" || value("checked") != nil else { return nil }
      let option = try field.nodes(forXPath: "option[@selected]/@value").first?.stringValue
      return (name, option ?? value("value") ?? "")
    }
  }

  @Test("Each group has one form with a control for each setting, and saving it as it is stores nothing")
  func unchanged() async throws {
    try await SiteBench.use { bench in
      let document = try XMLDocument(xmlString: await bench.get("/settings").text, options: [])
      #expect(try document.nodes(forXPath: "//div[@class='setting']").count == WatchifySetting.all.count)
      let groups = Set(WatchifySetting.all.map(\.group))
      let saves = try document.nodes(forXPath: "//button[starts-with(., 'Save')]")
      #expect(saves.count == groups.count)
      // Only the name of a file is entered as text.
      #expect(
        try document.nodes(forXPath: "//main//input[not(@type)]/@name").map(\.stringValue) == ["secretsPassphraseFile"])
      for group in groups {
        let saved = await bench.post("/settings", try form(document, of: group))
        #expect(saved.header("Location") == "/settings?done=\(group)#group-\(group)")
      }
      for setting in WatchifySetting.all {
        #expect(try await setting.read(bench.container.settings).isDefault, "\(setting.name)")
      }
    }
  }

  @Test("Times, channels, switches and numbers are saved together")
  func together() async throws {
    try await SiteBench.use { bench in
      let answer = await bench.post(
        "/settings",
        [
          ("notificationChannels", "none"), ("notificationChannels", "desktop"), ("notificationChannels", "terminal"),
          ("quietHours", "22:00"), ("quietHours", "07:30"), ("notifyPriceDropped", "false"),
          ("notifyImagesChanged", "false"), ("notifyImagesChanged", "true"), ("stockQuietHours", "12"),
        ])
      #expect(answer.header("Location") == "/settings?done=Notifications#group-Notifications")
      #expect(try await shown("notificationChannels", bench).value == .list(["desktop", "terminal"]))
      #expect(try await shown("quietHours", bench).text == "22:00-07:30")
      #expect(try await shown("notifyPriceDropped", bench).value == .flag(false))
      #expect(try await shown("notifyImagesChanged", bench).value == .flag(true))
      #expect(try await shown("stockQuietHours", bench).value == .number(12))
      let document = try XMLDocument(xmlString: await bench.get("/settings").text, options: [])
      let times = try document.nodes(forXPath: "//input[@type='time']/@value").map(\.stringValue)
      #expect(times == ["22:00", "07:30"])
      _ = await bench.post("/settings", [("quietHours", ""), ("quietHours", ""), ("notificationChannels", "none")])
      #expect(try await shown("quietHours", bench).isDefault)
      #expect(try await shown("notificationChannels", bench).value == .list([]))
      _ = await bench.post("/settings", [("reset", "notificationChannels")])
      #expect(try await shown("notificationChannels", bench).isDefault)
    }
  }

  @Test("An old form stores what was edited in it, and overwrites nothing that was stored since")
  func old() async throws {
    try await SiteBench.use { bench in
      let settings = bench.container.settings
      try await settings.set("/run/a,b", for: StorageKeys.secretsPassphraseFile)
      try await settings.set(["terminal", "desktop"], for: StorageKeys.notificationChannels)
      let document = try XMLDocument(xmlString: await bench.get("/settings").text, options: [])
      func post(
        _ group: String, _ name: String, _ text: String, from page: XMLDocument? = nil
      ) async throws -> HTTPResponse {
        var fields = try form(page ?? document, of: group)
        for index in fields.indices where fields[index].name == name { fields[index].value = text }
        return await bench.post("/settings", fields)
      }
      try await settings.set(60, for: StorageKeys.syncIntervalMinutes)
      #expect(try await post("Sync", "convertedPercent", "7").status == 303)
      #expect(try await shown("syncIntervalMinutes", bench).value == .number(60))
      #expect(try await shown("convertedPercent", bench).value == .number(7))
      // The page of a rejected form is as old as that form.
      let wrong = try await post("Sync", "convertedPercent", "400")
      #expect(wrong.status == 422)
      let again = try XMLDocument(xmlString: wrong.text, options: [])
      #expect(try await post("Sync", "convertedPercent", "8", from: again).status == 303)
      #expect(try await shown("syncIntervalMinutes", bench).value == .number(60))
      #expect(try await shown("convertedPercent", bench).value == .number(8))
      // A comma belongs to the name of a file.
      try await settings.set(.authorized, for: StorageKeys.notificationPermission)
      try await settings.set(["terminal"], for: StorageKeys.notificationChannels)
      #expect(try await post("Notifications", "secretsPassphraseFile", "/run/ab").status == 303)
      #expect(try await shown("secretsPassphraseFile", bench).text == "/run/ab")
      #expect(try await shown("notificationPermission", bench).text == "authorized")
      #expect(try await shown("notificationChannels", bench).value == .list(["terminal"]))
    }
  }

  @Test("What decides where the next start serves the page, and for whom, is shown and not changed")
  func nextStart() async throws {
    try await SiteBench.use { bench in
      try await bench.container.settings.set("/run/token", for: StorageKeys.accessTokenFile)
      #expect(await bench.get("/settings").text.contains("<code>/run/token</code>"))
      #expect(await bench.post("/settings", [("reset", "accessTokenFile")]).status == 400)
      let form = [("accessTokenFile", "/run/other"), ("publicAddress", "https://a.example/"), ("pagePictures", "off")]
      #expect(await bench.post("/settings", form).status == 303)
      #expect(try await shown("accessTokenFile", bench).text == "/run/token")
      #expect(try await shown("publicAddress", bench).isDefault)
      #expect(try await shown("pagePictures", bench).text == "off")
    }
  }

  @Test("A wrong value is explained, and nothing of its group is saved")
  func wrong() async throws {
    try await SiteBench.use { bench in
      let wrong = [("syncIntervalMinutes", "<b>4</b>"), ("convertedPercent", "7")]
      let answer = await bench.post("/settings", wrong)
      #expect(answer.status == 422)
      let document = try XMLDocument(xmlString: answer.text, options: [])
      #expect(try document.nodes(forXPath: "//*[@role='alert']").first?.stringValue?.contains("5 to 1,440") == true)
      #expect(try document.nodes(forXPath: "//input[@name='convertedPercent']/@value").first?.stringValue == "7")
      #expect(try await shown("convertedPercent", bench).isDefault)
      // The first of the wrong controls has the focus, and each is marked.
      let times = [
        ("quietHours", ""), ("quietHours", "07:30"), ("notificationPermission", "x"), ("stockQuietHours", "7"),
      ]
      let hours = await bench.post("/settings", times)
      #expect(hours.status == 422)
      let page = try XMLDocument(xmlString: hours.text, options: [])
      func names(_ condition: String) throws -> [String?] {
        try page.nodes(forXPath: "//*[\(condition)]/@name").map(\.stringValue)
      }
      #expect(try names("@aria-invalid='true'") == ["quietHours", "quietHours", "notificationPermission"])
      #expect(try names("@autofocus") == ["quietHours"])
      #expect(try page.nodes(forXPath: "//input[@type='time']/@value").map(\.stringValue) == ["", "07:30"])
      let long = "/" + String(repeating: "a", count: 5_000)
      let answered = await bench.post("/settings", [("secretsPassphraseFile", long)])
      #expect(answered.status == 422 && answered.text.contains("4,096 bytes"))
      #expect(await bench.post("/settings", [("nonsense", "1")]).status == 400)
    }
  }
}
