import Foundation
import ReplayShop
import Testing

@Suite("A replay shop fails")
struct FaultTests {
  /// Returns the response to one request with a fault; the next response must be correct again.
  private func answer(
    to fault: ReplayFault, patience: Duration = .seconds(20), enough: Int? = nil
  ) async throws -> RawAnswer {
    try await withServer(ShopGenerator(products: 10).feed, settings { $0.imageBase = "https://cdn.example/" }) {
      server, port in
      server.script([.fault(fault)])
      let answer = try await ask(port, "/products.json", patience: patience, enough: enough)
      #expect(try await ask(port, "/products.json").products().count == 10)
      #expect(server.maximumInFlight == 1)
      return answer
    }
  }

  @Test("with a status and its body", arguments: [401, 402, 403, 404, 423, 429, 430, 500, 503])
  func statuses(_ status: Int) async throws {
    let answer = try await answer(to: .status(status))
    #expect(answer.status == status && answer.header("Retry-After") == nil)
    #expect(answer.body.count == answer.length && !answer.body.isEmpty)
    if status == 429 { #expect(answer.text == "local_rate_limited") }
    if status == 403 { #expect(answer.header("Content-Type") == "text/html; charset=utf-8") }
  }

  @Test("with a Retry-After header", arguments: ["60", "Wed, 21 Oct 2026 07:28:00 GMT"])
  func retryAfter(_ text: String) async throws {
    #expect(try await answer(to: .status(429, retryAfter: text)).header("Retry-After") == text)
  }

  @Test("with responses that look correct")
  func wrongBodies() async throws {
    let password = try await answer(to: .password)
    #expect(password.status == 302 && password.header("Location") == "/password")
    let html = try await answer(to: .html)
    #expect(html.status == 200 && html.header("Content-Type") == "text/html; charset=utf-8")
    let complexity = try await answer(to: .complexity)
    #expect(complexity.status == 500 && complexity.header("shopify-complexity-score") != nil)
    let errors = try await answer(to: .errors("Not \"now\""))
    #expect(errors.status == 200 && errors.text == #"{"errors":"Not \"now\""}"#)
    #expect(try await answer(to: .empty).products() == [])
    let elsewhere = try await answer(to: .redirect(301, to: "http://other.example/products.json"))
    #expect(elsewhere.status == 301 && elsewhere.header("Location") == "http://other.example/products.json")
  }

  @Test("in the middle of the body")
  func brokenBodies() async throws {
    let right = try await answer(to: .late(.milliseconds(1)))
    let truncated = try await answer(to: .truncated)
    #expect(truncated.body == Array(right.body[..<(right.body.count / 2)]) && truncated.body.count == truncated.length)
    #expect(throws: (any Error).self) { try truncated.products() }
    let cut = try await answer(to: .cut(after: 100))
    #expect(cut.ending == .closed && cut.length == right.body.count && cut.body == Array(right.body[..<100]))
    let none = try await answer(to: .cut(after: 0))
    #expect(none.status == 200 && none.body == [])
    let reset = try await answer(to: .resetInBody(after: 100))
    #expect(reset.ending == .reset && reset.body.count <= 100)
    let slow = try await answer(to: .slow(bytes: 4_000, pause: .milliseconds(1)))
    #expect(slow.ending == .closed && slow.body == right.body)
    let stalled = try await answer(to: .stalled(after: 100), enough: 100)
    #expect(stalled.ending == .silent && stalled.length == right.body.count && stalled.body.count == 100)
  }

  @Test("with a stall, a reset, or an oversized body")
  func noBody() async throws {
    let stalled = try await answer(to: .stalled(), patience: .milliseconds(400))
    #expect(stalled.ending == .silent && stalled.body == [])
    let reset = try await answer(to: .reset)
    #expect(reset.ending == .reset && reset.bytes == [])
    let oversized = try await answer(to: .oversized(bytes: 20_000_000))
    #expect(oversized.body.count == 20_000_000 && oversized.length == 20_000_000)
    #expect(oversized.text.hasPrefix(#"{"products":[   "#))
  }

  @Test("in the order of its script, and only for the page that an entry names")
  func script() async throws {
    try await withServer { server, port in
      server.script([
        .fault(.status(503), page: 2), .fault(.status(429)), .normal, .fault(.html, page: 3), .normal(page: 2),
      ])
      var statuses: [Int?] = []
      for page in [1, 1, 2, 2, 1, 3] {
        let answer = try await ask(port, "/products.json?limit=3&page=\(page)")
        statuses.append(
          answer.header("Content-Type")?.hasPrefix("text/html") == true && answer.status == 200 ? 0 : answer.status)
      }
      #expect(statuses == [429, 200, 503, 200, 200, 0])
      #expect(server.scriptLeft == [])
      #expect(try await ask(port, "/meta.json").status == 200)
    }
  }

  @Test("permanently, except for robots.txt and the password page")
  func mode() async throws {
    try await withServer { server, port in
      server.set(mode: .password)
      for target in ["/products.json", "/meta.json", "/", "/collections/all/products.json"] {
        let closed = try await ask(port, target)
        #expect(closed.status == 302)
      }
      #expect(try await ask(port, "/robots.txt").status == 200)
      #expect(try await ask(port, "/password").status == 200)
      server.set(mode: .status(503), page: 2)
      #expect(try await ask(port, "/products.json?page=2").status == 503)
      #expect(try await ask(port, "/products.json?page=2").status == 503)
      #expect(try await ask(port, "/meta.json?page=2").status == 200)
      #expect(try await ask(port, "/products.json").status == 200)
      server.set(mode: nil)
      #expect(try await ask(port, "/products.json?page=2").status == 200)
      #expect(try await ask(port, "/products.json").status == 200)
    }
  }

  @Test(
    "as a line of a script specifies",
    arguments: [
      ("normal", ScriptEntry.normal), ("429", .fault(.status(429))), ("500 page=2", .fault(.status(500), page: 2)),
      (
        "429 page=2 retry-after=Wed, 21 Oct 2026 07:28:00 GMT",
        .fault(.status(429, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT"), page: 2)
      ),
      ("slow 10 20", .fault(.slow(bytes: 10, pause: .milliseconds(20)))), ("stalled", .fault(.stalled())),
      ("stalled 7", .fault(.stalled(after: 7))), ("cut 7", .fault(.cut(after: 7))), ("reset", .fault(.reset)),
      ("reset 7", .fault(.resetInBody(after: 7))), ("oversized 9", .fault(.oversized(bytes: 9))),
      ("late 5", .fault(.late(.milliseconds(5)))), ("redirect 301 http://x/", .fault(.redirect(301, to: "http://x/"))),
      ("password", .fault(.password)), ("html page=1", .fault(.html, page: 1)), ("complexity", .fault(.complexity)),
      ("errors", .fault(.errors())), ("empty", .fault(.empty)), ("truncated", .fault(.truncated)),
      ("normal page=3", .normal(page: 3)),
    ])
  func lines(_ line: String, _ entry: ScriptEntry) throws {
    #expect(try ScriptEntry(line) == entry)
  }

  @Test(
    "never for an invalid line of a script",
    arguments: [
      "", "42", "4000", "page=2", "page=x 429", "slow", "slow 1", "slow -1 2", "slow a b", "redirect 200 x", "explode",
    ])
  func badLines(_ line: String) {
    #expect(throws: ReplayError.notAScript(line: line)) { try ScriptEntry(line) }
  }
}
