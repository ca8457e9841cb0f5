import CofferTesting
import Foundation
import Testing

@Suite(.serialized, .enabled(if: ChromeDriver.missing == nil, "\(ChromeDriver.missing ?? "")"))
struct BrowserTests {
  /// The tests of pages rely on this: scripts that do not run, colours, sizes below those of windows, pictures.
  @Test func aPageIsOpenedAsRequested() async throws {
    let page = """
      data:text/html,<meta name=viewport content=width=device-width><title>off</title>\
      <p id=p>one</p><button>press</button><script>document.title='on'</script>
      """
    try await ChromeDriver.run { driver in
      let plain = try await Browser(driver, Browser.Options(runsScripts: false, isDark: true, width: 360, height: 700))
      try await plain.open(page)
      #expect(try await plain.title() == "off")
      #expect(try await plain.text("#p") == "one")
      #expect(try await plain.run("return innerWidth") as? Int == 360)
      #expect(try await plain.run("return matchMedia('(prefers-color-scheme: dark)').matches") as? Bool == true)
      #expect(try await plain.picture().prefix(4) == Data([0x89, 0x50, 0x4E, 0x47]))
      try await plain.close()
      let scripted = try await Browser(driver)
      try await scripted.open(page)
      #expect(try await scripted.title() == "on")
      #expect(try await scripted.run("return matchMedia('(prefers-color-scheme: dark)').matches") as? Bool == false)
      try await scripted.click("button")
      try await scripted.close()
    }
  }
}
