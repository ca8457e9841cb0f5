import CofferProcessTesting
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
    return found;
    """

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
        // The page is live once its stream is open.
        let end = Date().addingTimeInterval(20 * Double(patience))
        while served.server.livePageCount == 0, Date() < end { try await Task.sleep(for: .milliseconds(10)) }
        try await browser.run("window.marker = 1")
        try await served.changePrice(to: 3)
        try await browser.wait(until: "document.title !== \(quoted(title))")
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
        let end = Date().addingTimeInterval(20 * Double(patience))
        while served.server.livePageCount == 0, Date() < end { try await Task.sleep(for: .milliseconds(10)) }
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
        let end = Date().addingTimeInterval(20 * Double(patience))
        let drops = EventFilter(changeTypes: [.priceDropped])
        while try await served.bench.service.unreadCount(drops) > 0, Date() < end {
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await served.bench.service.unreadCount(drops) == 0)
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
