import CofferTesting
import Foundation
import Testing
import WatchifyKit

@testable import WatchifyWeb

/// The pages in a real browser.
@Suite(.serialized, .enabled(if: ChromeDriver.missing == nil, "\(ChromeDriver.missing ?? "")"))
struct PagesInBrowserTests {
  /// What a page must have in each of its forms, as a script that returns the violations.
  private static let check = """
    const found = [];
    const root = document.documentElement;
    if (root.lang !== 'en') found.push('no language');
    if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
    if (document.querySelectorAll('main').length !== 1) found.push('not one main');
    if (!document.querySelector('nav')) found.push('no nav');
    if (!document.title) found.push('no title');
    if (root.scrollWidth > innerWidth) found.push('wider than the window: ' + root.scrollWidth + ' > ' + innerWidth);
    for (const image of document.images) if (!image.hasAttribute('alt')) found.push('no alt: ' + image.src);
    for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
      if (!field.labels.length && !field.getAttribute('aria-label')) found.push('no label: ' + field.name);
    const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
    if (new Set(ids).size !== ids.length) found.push('an id stands twice');
    if (document.querySelector('[style], style, script:not([src])')) found.push('inline style or script');
    for (const target of document.querySelectorAll('a, button, input:not([type=hidden]), select, summary')) {
      if (target.matches('.skip') || !target.checkVisibility()) continue;
      if ([...target.parentNode.childNodes].some(n => n.nodeType === 3 && n.data.trim().length > 3)) continue;
      const box = target.getBoundingClientRect();
      if (box.height < 23.9 || box.width < 23.9)
        found.push(`small: ${target.outerHTML.slice(0, 80)} ${box.width} x ${box.height}`);
    }
    for (const link of document.querySelectorAll('main a'))
      if (!link.innerText.trim()) found.push('a link without text: ' + link.href);
    for (const text of document.querySelectorAll('main bdi')) {
      const box = text.getBoundingClientRect();
      if (box.right > innerWidth + 1) found.push('outside of the window: ' + text.innerText.slice(0, 20));
    }
    return found;
    """

  /// The file `axe.min.js` of axe-core, which the environment may name.
  private static let axe = ProcessInfo.processInfo.environment["WATCHIFY_AXE"]

  @Test(arguments: [true, false])
  func everyPageReadsInEveryForm(runsScripts: Bool) async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver, Browser.Options(runsScripts: runsScripts))
        for (width, isDark) in [(1_280, false), (360, true), (1_920, true)] {
          try await browser.setSize(width, 900)
          try await browser.setDark(isDark)
          for page in served.pages {
            try await browser.open(served.url + page)
            let found = try await browser.run(Self.check) as? [String]
            #expect(found == [], "\(page), \(width) px, \(runsScripts ? "with" : "without") scripts")
          }
        }
        let allowed: (String) -> Bool = {
          $0.hasPrefix(served.url + "/") || $0.hasPrefix("data:") || $0.hasPrefix("chrome://")
        }
        let outside = try await browser.requests().filter { !allowed($0) }
        #expect(outside == [], "requests to other hosts")
        let complaints = try await browser.console().filter { !$0.contains("/nowhere") && !$0.contains("/pictures/") }
        #expect(complaints == [], "messages of the console")
        try await browser.close()
      }
    }
  }

  @Test func hostileTextsBreakNoLayout() async throws {
    try await ServedBench.use { served in
      let pages = try await served.followHostileShop()
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        for width in [360, 768, 1_440] {
          try await browser.setSize(width, 900)
          for page in pages {
            try await browser.open(served.url + page)
            let found = try await browser.run(Self.check) as? [String]
            #expect(found == [], "\(page), \(width) px")
          }
        }
        try await browser.close()
      }
    }
  }

  @Test(.enabled(if: axe != nil, "WATCHIFY_AXE names no axe.min.js of axe-core"))
  func axeReportsNothing() async throws {
    try await ServedBench.use { served in
      let pages = served.pages + (try await served.followHostileShop())
      try await examine(pages.map { served.url + $0 })
    }
    try await ServedBench.use(ServedBench.requireToken) { try await examine([$0.url + "/"]) }
  }

  /// Runs every rule of axe-core on pages, in all forms.
  private func examine(_ addresses: [String]) async throws {
    let code = try String(contentsOfFile: #require(Self.axe), encoding: .utf8)
    let run = """
      return axe.run(document, { rules: { 'target-size': { enabled: true } } }).then(result =>
        result.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | ')));
      """
    try await ChromeDriver.run { driver in
      let browser = try await Browser(driver)
      for (width, isDark) in [360, 768, 1_440].flatMap({ [($0, false), ($0, true)] }) {
        try await browser.setSize(width, 900)
        try await browser.setDark(isDark)
        for address in addresses {
          try await browser.open(address)
          try await browser.run(code)
          #expect(try await browser.run(run) as? [String] == [], "\(address), \(width) px, \(isDark)")
        }
      }
      try await browser.close()
    }
  }

  @Test func theLoginHasTheStyleOfThePages() async throws {
    try await ServedBench.use(ServedBench.requireToken) { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver, Browser.Options(isDark: true))
        try await browser.open(served.url + "/")
        let script = "return getComputedStyle(document.body).backgroundColor"
        #expect(try await browser.run(script) as? String == "rgb(22, 22, 20)")
        let complaints = try await browser.console().filter { !$0.contains("401") }
        #expect(complaints == [])
        try await browser.type(ServedBench.token, into: "input[name=token]")
        try await browser.click("button")
        try await browser.wait(until: "document.querySelector('nav')")
        try await browser.close()
      }
    }
  }

  @Test func aListFollowsWhileSomebodyTypes() async throws {
    try await ServedBench.use { served in
      _ = try await bench(served)
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        for (page, text) in [("/products", "mat"), ("/shops", "tarn")] {
          try await browser.open(served.url + page)
          let count = try await browser.run("return document.querySelector('.count').textContent") as? String ?? ""
          try await browser.run("window.marker = 1; document.querySelector('input[type=search]').focus()")
          try await browser.press(text)
          try await browser.wait(until: "location.search === \(quoted("?q=" + text))")
          #expect(try await browser.run("return document.querySelector('.count').textContent") as? String != count)
          #expect(try await browser.address() == "\(served.url)\(page)?q=\(text)")
          #expect(try await browser.run("return document.activeElement.value") as? String == text)
          #expect(try await browser.run("return window.marker") as? Int == 1, "the page was not loaded again")
        }
        try await browser.close()
      }
    }
  }

  /// Follows a second shop.
  private func bench(_ served: ServedBench) async throws -> UUID {
    try await served.bench.follow("other.example", name: "Other", [.make(1, "Bag")])
  }

  @Test func theFocusStaysAfterRead() async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        try await browser.open(served.url + "/activity")
        let row = "document.activeElement?.closest('li')?.id"
        func focus(_ script: String) async throws -> String {
          try await browser.run("return " + script) as? String ?? ""
        }
        let second = try await focus("document.querySelectorAll('.news > li.unread')[1].id")
        try await browser.run("document.querySelector('.news button').focus()")
        let first = try await focus(row)
        try await browser.press("\u{E007}")
        try await browser.wait(until: "\(row) === \(quoted(second))")
        #expect(try await focus("document.activeElement.localName") == "button")
        // The last one leaves no button, and on the page of its shop a row keeps its position.
        try await browser.press("\u{E007}")
        try await browser.wait(until: "!document.querySelector('.news button') && \(row) === \(quoted(first))")
        try await browser.close()
      }
    }
  }

  @Test func colorsFollowThePreference() async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        var brightness: [Int] = []
        for isDark in [false, true] {
          try await browser.setDark(isDark)
          try await browser.open(served.url + "/activity")
          let script = """
            const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/[0-9.]+/g).map(Number);
            const body = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
            return body.length === 4 && body[3] === 0 ? r + g + b : body[0] + body[1] + body[2];
            """
          brightness.append(try await browser.run(script) as? Int ?? -1)
        }
        #expect(brightness[0] > 600 && (0..<180).contains(brightness[1]), "\(brightness)")
        try await browser.close()
      }
    }
  }

  /// A change by any process reaches an open page, without a request of its reader.
  @Test(arguments: ["", "watch/"]) func newsAppearsInAnOpenPage(folder: String) async throws {
    let socket = try PassedSocket("127.0.0.1")
    try await ServedBench.use { configuration in
      configuration.listeningDescriptor = socket.descriptor
      configuration.publicAddress = PublicAddress("http://127.0.0.1:\(socket.port)/\(folder)")
    } _: { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        try await browser.open(served.url + "/activity")
        let title = try await browser.title()
        try await eventually("the stream of the page is open") { served.server.livePageCount > 0 }
        let focused = folder.isEmpty ? ".note a" : ".top nav a:last-of-type"
        try await browser.run("window.marker = 1; document.querySelector(\(quoted(focused))).focus()")
        let address = try await browser.run("return document.activeElement.href") as? String
        try await served.changePrice(to: 3)
        try await browser.wait(until: "document.title !== \(quoted(title))")
        try await browser.wait(until: "document.activeElement.href === \(quoted(address ?? ""))")
        let text = try await browser.text("main")
        #expect(text.contains(served.products[2].title) && text.contains("$3.00"))
        #expect(try await browser.run("return window.marker") as? Int == 1, "the page was not loaded again")
        let unread = try await served.bench.service.unreadCount()
        #expect(try await browser.title().hasPrefix("(\(unread)) "))
        try await browser.close()
      }
    }
  }

  /// A browser opens six connections to a server at most. If each page kept one, the seventh would never load.
  @Test func aDozenWindowsAreLive() async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        var windows: [String] = []
        for _ in 0..<12 {
          windows.append(try await browser.openWindow())
          try await browser.open(served.url + "/activity")
        }
        let title = try await browser.title()
        try await eventually("a page is live") { served.server.livePageCount > 0 }
        #expect(served.server.livePageCount < 6)
        try await served.changePrice(to: 3)
        for window in windows {
          try await browser.choose(window: window)
          try await browser.wait(until: "document.title !== \(quoted(title))")
        }
        try await browser.close()
      }
    }
  }

  @Test func formsWorkWithoutScripts() async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver, Browser.Options(runsScripts: false))
        #expect(try await served.bench.service.unreadCount() > 0)
        try await browser.open(served.url + "/activity?type=price")
        try await browser.click("form[action^='/activity/read'] button, form[action^='/read'] button")
        // The click does not wait for the answer to the form.
        let drops = EventFilter(changeTypes: [.priceDropped])
        try await eventually("they are read") { try await served.bench.service.unreadCount(drops) == 0 }
        #expect(try await served.bench.service.unreadCount() > 0, "only what the filter showed is read")
        try await browser.close()
      }
    }
  }

  @Test func theKeyboardReachesTheContent() async throws {
    try await ServedBench.use { served in
      try await ChromeDriver.run { driver in
        let browser = try await Browser(driver)
        try await browser.open(served.url + "/activity")
        try await browser.press("\u{E004}")
        let first = try await browser.run("return document.activeElement.getAttribute('href')") as? String
        #expect(first == "#main" || first == "#content", "the first stop skips the navigation: \(first ?? "none")")
        let outline = "const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.outlineWidth"
        #expect(try await browser.run(outline) as? String != "none0px", "the focus is visible")
        try await browser.close()
      }
    }
  }
}

/// Returns a text as a literal of JavaScript.
private func quoted(_ text: String) -> String {
  "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
}
