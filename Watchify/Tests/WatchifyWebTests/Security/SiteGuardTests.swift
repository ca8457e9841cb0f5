import CofferCore
import Foundation
import Testing
import WatchifyHTTP

@testable import WatchifyWeb

@Suite struct SiteGuardTests {
  private static let address = SiteAddress(host: "127.0.0.1", port: 8_737, names: ["nas.example"], isSecure: false)
  private let plain = SiteGuard(address: Self.address, accessToken: nil, isSecure: false)
  private let locked = SiteGuard(address: Self.address, accessToken: "a token of enough length", isSecure: false)

  private func get(_ target: String, _ headers: (name: String, value: String)...) -> HTTPRequest {
    HTTPRequest("GET", target, headers: [("Host", "127.0.0.1:8737")] + headers)
  }

  private func post(
    _ target: String, _ fields: [(name: String, value: String)], _ headers: (name: String, value: String)...
  ) -> HTTPRequest {
    HTTPRequest(
      "POST", target,
      headers: [("Host", "127.0.0.1:8737"), ("Content-Type", "application/x-www-form-urlencoded")] + headers,
      body: Array(FormCoding.encoded(fields).utf8))
  }

  @Test(arguments: [
    ("127.0.0.1:8737", true), ("localhost:8737", true), ("LOCALHOST:8737", true), ("[::1]:8737", true),
    ("nas.example:8737", true), ("nas.example", true), ("nas.example:80", false), ("127.0.0.1", false),
    ("127.0.0.1:80", false), ("evil.example:8737", false),
    ("evil.example", false), ("", false), ("127.0.0.1.evil.example:8737", false),
    ("127.0.0.1:8737.evil.example", false),
    ("192.168.1.5:8737", false), ("[::1", false), ("[::1]evil:8737", false), ("localhost:8737:8737", false),
    ("user@localhost:8737", false), ("2130706433:8737", false),
  ])
  func onlyOwnHostsAreAnswered(host: String, isOwn: Bool) {
    let refusal = plain.refusal(of: HTTPRequest("GET", "/", headers: [("Host", host)]))
    #expect(refusal?.status == (isOwn ? nil : 421))
  }

  @Test func aRequestWithoutHostIsRefused() {
    #expect(plain.refusal(of: HTTPRequest("GET", "/"))?.status == 421)
  }

  /// With a token, a server for other devices is reached under any number, which no name can be rebound to.
  @Test func numbersAreAcceptedBeyondThisDevice() {
    let address = SiteAddress(host: "0.0.0.0", port: 443, names: [], isSecure: true)
    #expect(address.includes(host: "192.168.1.5") && address.includes(host: "[fe80::1]:443"))
    #expect(!address.includes(host: "evil.example") && !address.includes(host: "1.2.3"))
    #expect(!address.includes(host: "192.168.1.999") && !address.includes(host: "[evil.example]"))
  }

  @Test func otherSitesMayOnlyOpenPages() {
    func fetch(_ site: String, _ mode: String, _ dest: String) -> HTTPResponse? {
      plain.refusal(of: get("/", ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)))
    }
    #expect(fetch("cross-site", "navigate", "document") == nil, "a link")
    #expect(fetch("none", "navigate", "document") == nil, "an entered address")
    #expect(fetch("same-origin", "cors", "empty") == nil, "a script of the page")
    #expect(fetch("cross-site", "navigate", "iframe")?.status == 403)
    #expect(fetch("cross-site", "no-cors", "image")?.status == 403)
    #expect(fetch("same-site", "cors", "empty")?.status == 403, "a server at another port of this device")
    let form = post(
      "/read", [("csrf", plain.formToken)], ("Sec-Fetch-Site", "cross-site"),
      ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))
    #expect(plain.refusal(of: form)?.status == 403)
  }

  @Test func formsNeedTheTokenAndTheOrigin() {
    let token = plain.formToken
    #expect(plain.refusal(of: post("/read", [("csrf", token)])) == nil)
    #expect(plain.refusal(of: post("/read", [("csrf", token)], ("Origin", "http://127.0.0.1:8737"))) == nil)
    for origin in ["http://evil.example", "null", "https://127.0.0.1:8737", "http://127.0.0.1:8738", ""] {
      #expect(plain.refusal(of: post("/read", [("csrf", token)], ("Origin", origin)))?.status == 403, "\(origin)")
    }
    #expect(plain.refusal(of: post("/read", []))?.status == 403)
    #expect(plain.refusal(of: post("/read", [("csrf", "")]))?.status == 403)
    #expect(plain.refusal(of: post("/read", [("csrf", String(token.dropLast()) + "x")]))?.status == 403)
    var other = post("/read", [("csrf", token)])
    other.headers = other.headers.map { $0.name == "Content-Type" ? ($0.name, "text/plain") : $0 }
    #expect(plain.refusal(of: other)?.status == 403, "a type that other sites can send without being asked")
    #expect(SiteGuard(address: Self.address, accessToken: nil, isSecure: false).formToken != token)
  }

  @Test func aTokenIsAskedForAndRemembered() throws {
    #expect(locked.refusal(of: get("/"))?.status == 401)
    #expect(locked.refusal(of: get("/pictures/1/2/3"))?.status == 401)
    #expect(locked.refusal(of: get("/live"))?.status == 401)
    #expect(locked.refusal(of: get("/assets/style.css")) == nil)
    let wrong = locked.refusal(of: post("/login", [("csrf", locked.formToken), ("token", "another")]))
    #expect(wrong?.status == 403)
    #expect(locked.refusal(of: post("/login", [("token", "a token of enough length")]))?.status == 401)
    let answer = try #require(
      locked.refusal(of: post("/login", [("csrf", locked.formToken), ("token", "a token of enough length")])))
    #expect(answer.status == 303)
    let cookie = try #require(answer.header("Set-Cookie"))
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(cookie.contains(part)) }
    let pair = String(cookie.prefix { $0 != ";" })
    #expect(!pair.contains("token"))
    #expect(locked.refusal(of: get("/", ("Cookie", pair))) == nil)
    #expect(locked.refusal(of: get("/", ("Cookie", pair + "0")))?.status == 401)
    #expect(locked.refusal(of: post("/read", [], ("Cookie", pair)))?.status == 403, "the form's token is still needed")
  }

  /// A browser keeps a `__Host-` cookie only with `Secure`, `Path=/` and no `Domain`.
  @Test(arguments: [false, true]) func aSessionIsEndedOnRequest(isSecure: Bool) throws {
    let guarding = SiteGuard(address: Self.address, accessToken: "a token of enough length", isSecure: isSecure)
    let token = guarding.formToken
    func logIn() throws -> String {
      let form = post("/login", [("csrf", token), ("token", "a token of enough length")])
      let cookie = try #require(guarding.refusal(of: form)?.header("Set-Cookie"))
      #expect(cookie.hasPrefix(isSecure ? "__Host-watchify-session=" : "watchify-session="), "\(cookie)")
      #expect(cookie.contains("; Secure") == isSecure && cookie.contains("; Path=/;") && !cookie.contains("Domain"))
      return String(cookie.prefix { $0 != ";" })
    }
    let (session, other) = (try logIn(), try logIn())
    #expect(guarding.refusal(of: get("/", ("Cookie", session))) == nil)
    #expect(guarding.refusal(of: post("/logout", [], ("Cookie", session)))?.status == 403, "without the form's token")
    #expect(guarding.refusal(of: get("/", ("Cookie", session))) == nil)
    let ended = try #require(guarding.refusal(of: post("/logout", [("csrf", token)], ("Cookie", session))))
    let removal = try #require(ended.header("Set-Cookie"))
    #expect(ended.status == 303 && removal.contains("session=;") && removal.contains("Max-Age=0"), "\(removal)")
    #expect(removal.contains("; Secure") == isSecure && removal.contains("; Path=/;"), "\(removal)")
    #expect(guarding.refusal(of: get("/", ("Cookie", session)))?.status == 401, "the session has ended on the server")
    #expect(guarding.refusal(of: get("/", ("Cookie", other))) == nil, "other browsers stay")
    #expect(plain.refusal(of: post("/logout", [("csrf", plain.formToken)])) == nil, "a page without a token has none")
  }

  @Test func programsPresentTheTokenForReading() {
    let basic = Data("me:a token of enough length".utf8).base64EncodedString()
    #expect(locked.refusal(of: get("/feed.atom", ("Authorization", "Basic \(basic)"))) == nil)
    #expect(locked.refusal(of: get("/feed.atom", ("Authorization", "Bearer a token of enough length"))) == nil)
    #expect(locked.refusal(of: get("/feed.atom", ("Authorization", "Bearer other")))?.status == 401)
    #expect(locked.refusal(of: get("/feed.atom", ("Authorization", "Basic ???")))?.status == 401)
    #expect(locked.refusal(of: get("/feed.atom"))?.header("WWW-Authenticate")?.hasPrefix("Basic ") == true)
    #expect(locked.refusal(of: get("/"))?.header("WWW-Authenticate") == "Bearer", "no window of the browser's own")
    let form = post(
      "/read", [("csrf", locked.formToken)], ("Authorization", "Bearer a token of enough length"))
    #expect(locked.refusal(of: form)?.status == 401)
  }

  /// A client that guesses locks out only its own address, and only for a minute.
  @Test func guessesAreLimited() {
    let start = ContinuousClock.now
    let time = Locked(start)
    let access = SiteAccess(token: "right", now: { time.withLock { $0 } })
    for _ in 0..<10 { #expect(access.logIn("wrong", of: "192.0.2.1") == .wrong) }
    #expect(access.logIn("right", of: "192.0.2.1") == .tooOften)
    guard case .accepted = access.logIn("right", of: "192.0.2.2") else {
      Issue.record("another address is locked out")
      return
    }
    for number in 0..<2_000 { _ = access.logIn("wrong", of: "2001:db8:0:\(String(number, radix: 16))::1") }
    guard case .accepted = access.logIn("right", of: "192.0.2.3") else {
      Issue.record("somebody with many addresses locks out everybody")
      return
    }
    time.withLock { $0 = start + .seconds(61) }
    guard case .accepted = access.logIn("right", of: "192.0.2.1") else {
      Issue.record("it is locked out for longer than a minute")
      return
    }
  }

  /// Refusals neither repeat what the request contained nor can be framed.
  @Test func refusalsContainNothingOfTheRequest() throws {
    let request = HTTPRequest("GET", "/<script>", headers: [("Host", "<b>evil</b>")])
    let response = try #require(plain.refusal(of: request))
    guard case .bytes(let bytes) = response.body else {
      Issue.record("it has no page")
      return
    }
    #expect(!String(decoding: bytes, as: UTF8.self).contains("evil"))
    #expect(response.header("X-Frame-Options") == "DENY")
    #expect(response.header("Content-Security-Policy")?.contains("frame-ancestors 'none'") == true)
  }
}
