import CofferCore
import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

/// What a page of another site can do to Watchify through the browser of its reader.
@Suite(.serialized, .enabled(if: ChromeDriver.missing == nil, "\(ChromeDriver.missing ?? "")"))
struct HostileSiteTests {
  /// Returns the markup of another site's page.
  private typealias Page = @Sendable (ServedBench) -> String

  /// Runs a body with another site, whose page at `/` has the given markup, and with a browser that resolves
  /// `evil.example` to this device.
  private func attack(
    _ markup: @escaping Page, _ body: (Browser, ServedBench, String) async throws -> Void
  ) async throws {
    try await ServedBench.use { served in
      let evil = HTTPServer { _ in HTTPResponse(200, "text/html; charset=utf-8", "<!doctype html>" + markup(served)) }
      let port = try evil.start()
      do {
        try await ChromeDriver.run { driver in
          let browser = try await Browser(
            driver, Browser.Options(arguments: ["--host-resolver-rules=MAP evil.example 127.0.0.1"]))
          try await body(browser, served, "http://evil.example:\(port)/")
          try await browser.close()
        }
      } catch {
        await evil.stop(grace: .zero)
        throw error
      }
      await evil.stop(grace: .zero)
    }
  }

  /// A name of the attacker that resolves to this device (DNS rebinding) has its own origin, which could read pages.
  @Test func aReboundNameIsRefused() async throws {
    let page: Page = { _ in "" }
    try await attack(page) { browser, served, _ in
      let port = try #require(URL(string: served.url)?.port)
      try await browser.open("http://evil.example:\(port)/activity")
      #expect(try await browser.text("h1") == "Not this address")
      #expect(!(try await browser.source()).contains("Tarn"))
    }
  }

  /// A form of another site changes nothing, whatever type it is sent as and whatever token it guesses.
  @Test(arguments: ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
  func aFormOfAnotherSiteChangesNothing(type: String) async throws {
    let page: Page = { served in
      """
      <form method=post enctype="\(type)" action="\(served.url)/activity/read"><input name=csrf value=0>
      <input name=all value=1></form><script>document.forms[0].submit()</script>
      """
    }
    try await attack(page) { browser, served, evil in
      let before = try await served.bench.service.unreadCount()
      try await browser.open(evil)
      try await browser.wait(until: "document.querySelector('h1')")
      #expect(try await browser.text("h1") == "Refused")
      #expect(try await served.bench.service.unreadCount() == before)
    }
  }

  @Test func framesScriptsAndPicturesAreRefused() async throws {
    let page: Page = { served in
      """
      <title>waiting</title><iframe id=frame src="\(served.url)/activity"></iframe>
      <script>
      const wait = (kind, address) => new Promise(done => {
        const element = document.createElement(kind);
        element.onload = () => done(kind + ' loaded'); element.onerror = () => done(kind + ' refused');
        element.src = address; document.body.append(element);
      });
      const read = fetch('\(served.url)/activity', {credentials: 'include'}).then(() => 'read', () => 'unread');
      const blind = fetch('\(served.url)/read', {method: 'POST', mode: 'no-cors', body: 'all=1'})
        .then(() => 'sent', () => 'unsent');
      const stream = new Promise(done => {
        const source = new EventSource('\(served.url)/live');
        source.onmessage = () => done('heard'); source.addEventListener('hello', () => done('heard'));
        source.onerror = () => done('deaf');
      });
      onload = () => Promise.all([
        wait('img', '\(served.url)/pictures/\(served.store)/\(served.products[0].id)/0'),
        wait('script', '\(served.url)/assets/watchify.js'), read, blind, stream,
      ]).then(all => { document.title = all.join(', ') });
      </script><body></body>
      """
    }
    try await attack(page) { browser, served, evil in
      let before = try await served.bench.service.unreadCount()
      try await browser.open(evil)
      try await browser.wait(until: "document.title !== 'waiting'")
      #expect(try await browser.title() == "img refused, script refused, unread, sent, deaf")
      #expect(try await served.bench.service.unreadCount() == before)
      // A refused frame shows a page of the browser, of another origin.
      let frame = "try { return document.getElementById('frame').contentDocument !== null } catch { return false }"
      #expect(try await browser.run(frame) as? Bool == false)
      #expect(served.server.livePageCount == 0)
    }
  }

  /// Texts of shops are shown, never interpreted.
  @Test func hostileTitlesDoNothing() async throws {
    try await ServedBench.use { served in
      var products = served.products
      products[3].title = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
      products[4].title = "\u{202E}txet desrever \u{1B}[31m" + String(repeating: "very long ", count: 20_000)
      products[5].title = "'\"><svg onload=document.title='owned'>"
      for index in 3...5 { products[index].variants[0].price = Price(tenThousandths: 10_000) }
      served.bench.shops.serve("tarn.example", name: "</title><script>document.title='owned'</script>", products)
      try await served.bench.read(served.store)
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        for page in served.pages + (3...5).map({ "/shops/\(served.store)/products/\(products[$0].id)" }) {
          try await browser.open(served.url + page)
          #expect(try await browser.title() != "owned", "\(page)")
          #expect(
            try await browser.run("return document.querySelectorAll('main script, main svg[onload]').length") as? Int
              == 0)
          #expect(try await browser.source().utf8.count < 2_000_000, "\(page) is bounded")
        }
        #expect(try await browser.console().filter { $0.contains("Security Policy") } == [])
        try await browser.close()
      }
    }
  }
}
