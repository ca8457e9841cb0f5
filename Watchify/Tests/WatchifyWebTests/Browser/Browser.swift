import CofferTesting
import Foundation
import WatchifyTestSupport

/// A headless Chromium, controlled by WebDriver (W3C) over HTTP.
///
/// ```swift
/// let browser = try await Browser(driver, Browser.Options(isDark: true))
/// try await browser.open(page)
/// #expect(try await browser.title() == "Activity")
/// try await browser.close()
/// ```
final class Browser: Sendable {
  struct Options {
    /// Whether pages may run scripts.
    var runsScripts = true
    /// Whether pages see a preference for dark colours.
    var isDark = false
    /// The size of the page's area in CSS pixels.
    var width = 1_280
    var height = 900
    /// Arguments besides the usual ones, such as `--host-resolver-rules=MAP shop.example 127.0.0.1`.
    var arguments: [String] = []
  }

  /// A found element, valid until the page changes.
  struct Element: Sendable {
    fileprivate static let key = "element-6066-11e4-a52e-4f735466cecf"
    fileprivate let id: String
  }

  private let driver: ChromeDriver
  private let session: String

  /// Starts a browser with an empty profile.
  init(_ driver: ChromeDriver, _ options: Options = Options()) async throws {
    self.driver = driver
    let profile = driver.directory.path("profile-\(UUID().uuidString)")
    let arguments =
      [
        // Chromium refuses its sandbox for root, who runs the tests in CI.
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
        "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--user-data-dir=\(profile)", "--window-size=\(options.width),\(options.height)",
      ] + options.arguments
    var chrome: [String: Any] = ["args": arguments, "binary": "/usr/bin/chromium"]
    if !options.runsScripts {
      chrome["prefs"] = ["profile.managed_default_content_settings.javascript": 2]
    }
    let capabilities: [String: Any] = [
      "browserName": "chrome", "acceptInsecureCerts": true, "goog:chromeOptions": chrome,
      "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
      "timeouts": ["pageLoad": 20_000 * patience, "script": 20_000 * patience, "implicit": 0],
    ]
    let answer = try await Self.send(
      "POST", driver.port, "/session", ["capabilities": ["alwaysMatch": capabilities]])
    guard let id = (answer as? [String: Any])?["sessionId"] as? String else {
      throw TestFailure("chromedriver started no session: \(answer ?? "nothing")")
    }
    session = id
    try await setSize(options.width, options.height)
    try await setDark(options.isDark)
  }

  /// Ends the browser. A browser that is not closed ends with its driver.
  func close() async throws { _ = try await call("DELETE", "") }

  // MARK: Appearance

  /// Sets the size of the page's area in CSS pixels, which may be narrower than a window can be.
  func setSize(_ width: Int, _ height: Int) async throws {
    try await develop(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600])
  }

  func setDark(_ isDark: Bool) async throws {
    try await develop(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
  }

  /// Returns the visible part of the page as a PNG image, or the whole page.
  func picture(whole: Bool = false) async throws -> Data {
    let answer = try await develop("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": whole])
    guard let text = (answer as? [String: Any])?["data"] as? String, let data = Data(base64Encoded: text) else {
      throw TestFailure("the browser returned no picture")
    }
    return data
  }

  /// Calls a command of the Chrome DevTools Protocol.
  @discardableResult
  func develop(_ command: String, _ parameters: [String: Any] = [:]) async throws -> Any? {
    try await call("POST", "/goog/cdp/execute", ["cmd": command, "params": parameters])
  }

  // MARK: Pages

  /// Opens an address and waits until the page and all that it includes is loaded.
  func open(_ address: String) async throws { _ = try await call("POST", "/url", ["url": address]) }

  /// Opens a further window, which is then the current one, and returns its handle.
  func openWindow() async throws -> String {
    let answer = try await call("POST", "/window/new", ["type": "window"])
    guard let handle = (answer as? [String: Any])?["handle"] as? String else {
      throw TestFailure("the browser opened no window")
    }
    try await choose(window: handle)
    return handle
  }

  /// Makes a window the current one.
  func choose(window: String) async throws { _ = try await call("POST", "/window", ["handle": window]) }

  func address() async throws -> String { try await call("GET", "/url") as? String ?? "" }
  func title() async throws -> String { try await call("GET", "/title") as? String ?? "" }
  func source() async throws -> String { try await call("GET", "/source") as? String ?? "" }
  func reload() async throws { _ = try await call("POST", "/refresh", [:]) }

  /// Runs the body of a function in the page and returns its result.
  @discardableResult
  func run(_ script: String, _ arguments: [Any] = []) async throws -> Any? {
    try await call("POST", "/execute/sync", ["script": script, "args": arguments])
  }

  /// Runs a script again and again until it returns `true`.
  /// - Throws: ``TestFailure`` after a minute times `patience`.
  func wait(until script: String) async throws {
    try await eventually("in the page: \(script)") { try await run("return Boolean(\(script))") as? Bool == true }
  }

  /// Returns the messages of the console since the last call, such as violations of a content security policy.
  func console() async throws -> [String] {
    let entries = try await call("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
    return entries.compactMap { $0["message"] as? String }
  }

  /// Returns the addresses of all requests since the last call, including blocked ones.
  func requests() async throws -> [String] {
    let entries = try await call("POST", "/se/log", ["type": "performance"]) as? [[String: Any]] ?? []
    return entries.compactMap { entry in
      guard let text = entry["message"] as? String,
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
        let message = object["message"] as? [String: Any],
        message["method"] as? String == "Network.requestWillBeSent",
        let parameters = message["params"] as? [String: Any], let request = parameters["request"] as? [String: Any]
      else { return nil }
      return request["url"] as? String
    }
  }

  // MARK: Elements

  /// Returns the elements that a CSS selector matches, in document order.
  func all(_ selector: String) async throws -> [Element] {
    let answer = try await call("POST", "/elements", ["using": "css selector", "value": selector])
    return (answer as? [[String: Any]] ?? []).compactMap { $0[Element.key] as? String }.map(Element.init)
  }

  /// Returns the first element that a CSS selector matches.
  /// - Throws: ``TestFailure`` if there is none.
  func first(_ selector: String) async throws -> Element {
    guard let element = try await all(selector).first else {
      throw TestFailure("\(try await address()) has no element \(selector)")
    }
    return element
  }

  /// Returns the visible text of the first element that a selector matches.
  func text(_ selector: String) async throws -> String {
    try await call("GET", "/element/\(first(selector).id)/text") as? String ?? ""
  }

  /// Clicks the first element that a selector matches, and waits for the page that follows.
  func click(_ selector: String) async throws {
    _ = try await call("POST", "/element/\(first(selector).id)/click", [:])
  }

  /// Replaces the text of the first field that a selector matches.
  func type(_ text: String, into selector: String) async throws {
    let field = try await first(selector)
    _ = try await call("POST", "/element/\(field.id)/clear", [:])
    _ = try await call("POST", "/element/\(field.id)/value", ["text": text])
  }

  /// Presses keys, one after another, on whatever has the focus. Special keys are code points such as `\u{E004}`, Tab.
  func press(_ keys: String) async throws {
    let actions = keys.flatMap { key in
      [["type": "keyDown", "value": String(key)], ["type": "keyUp", "value": String(key)]]
    }
    _ = try await call("POST", "/actions", ["actions": [["type": "key", "id": "keyboard", "actions": actions]]])
  }

  // MARK: The wire

  private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any? {
    try await Self.send(method, driver.port, "/session/\(session)\(path)", body)
  }

  /// Sends a command and returns the member `value` of the answer.
  ///
  /// It uses no `URLSession`, which refuses the header fields of chromedriver, as they have no space after the colon.
  private static func send(
    _ method: String, _ port: UInt16, _ path: String, _ body: [String: Any]? = nil
  ) async throws -> Any? {
    let text = try body.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) } ?? ""
    let answer = try await ask(
      port, path, method: method, headers: ["Content-Type: application/json; charset=utf-8"], body: text,
      patience: .seconds(60 * patience), keptOpen: true)
    let object = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
    guard answer.status == 200, let object else {
      let failure = object?["value"] as? [String: Any]
      throw TestFailure("\(method) \(path): \(failure?["message"] ?? answer.text)")
    }
    return object["value"]
  }
}
