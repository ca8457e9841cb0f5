import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit
import WatchifyTestSupport

@testable import WatchifyWeb

/// The page behind a reverse proxy.
@Suite(.serialized) struct ReverseProxyTests {
  static let token = "a token of enough length"

  /// What a browser does with one proxy: it follows every link, sends forms and waits for news.
  private struct Visitor {
    let port: UInt16
    let folder: String
    var cookie: String?
    var origin: String { "http://127.0.0.1:\(port)" }

    func get(_ target: String, isLoggedIn: Bool = true, enough: Int? = nil) async throws -> RawAnswer {
      try await ask(
        port, target, headers: isLoggedIn ? cookie.map { ["Cookie: \($0)"] } ?? [] : [], enough: enough)
    }

    func post(_ target: String, _ form: [(name: String, value: String)]) async throws -> RawAnswer {
      try await ask(
        port, target, method: "POST",
        headers: (cookie.map { ["Cookie: \($0)"] } ?? []) + [
          "Origin: \(origin)", "Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded",
        ], body: FormCoding.encoded(form))
    }

    /// Returns the addresses of this site in a page, by the attribute that contains them.
    func addresses(_ attribute: String, in page: String) -> [String] {
      page.components(separatedBy: " \(attribute)=\"").dropFirst().map { part in
        String(part.prefix { $0 != "\"" }).replacing("&amp;", with: "&")
      }.filter { $0.hasPrefix("/") }
    }

    mutating func logIn() async throws {
      let page = try await get(folder)
      #expect(page.status == 401)
      let action = try #require(addresses("action", in: page.text).first)
      #expect(action == folder + "login")
      let csrf = try #require(page.text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/)).1
      let answer = try await post(action, [("csrf", String(csrf)), ("token", ReverseProxyTests.token)])
      #expect(answer.status == 303 && answer.header("Location") == folder, "\(answer.text)")
      let field = try #require(answer.header("Set-Cookie"))
      let path = folder == "/" ? folder : String(folder.dropLast())
      #expect(field.contains("; Path=\(path);") && !field.contains("Secure") && !field.contains("__"), "\(field)")
      cookie = String(field.prefix { $0 != ";" })
    }

    /// Opens all pages that links lead to, and returns their addresses.
    func walk() async throws -> Set<String> {
      var (seen, waiting) = (Set<String>(), [folder])
      while let target = waiting.popLast() {
        guard seen.count < 200, seen.insert(target).inserted else { continue }
        let answer = try await get(target)
        #expect([200, 303].contains(answer.status), "\(target)")
        let location = answer.header("Location")
        let all = ["href", "src", "action"].flatMap { addresses($0, in: answer.text) } + (location.map { [$0] } ?? [])
        for address in all { #expect(address.hasPrefix(folder), "\(target) leads to \(address)") }
        let links = ["href", "src"].flatMap { addresses($0, in: answer.text) } + (location.map { [$0] } ?? [])
        waiting += links.map { String($0.prefix { $0 != "#" }) }.filter {
          !$0.contains("/pictures/") && $0.count { $0 == "&" } == 0
        }
      }
      return seen
    }
  }

  /// Does what somebody does on the page in an evening.
  private func evening(_ served: ServedBench, _ visitor: Visitor) async throws {
    var visitor = visitor
    try await visitor.logIn()
    let seen = try await visitor.walk()
    for part in ["activity", "products", "shops", "wishes", "settings", "health", "assets/"] {
      #expect(seen.contains { $0.hasPrefix(visitor.folder + part) }, "\(part) is not linked")
    }
    let script = try #require(seen.first { $0.hasSuffix(".js") })
    #expect(try await visitor.get(script).text.contains("new URL(\"../live\", import.meta.url)"))
    // A form.
    let page = try await visitor.get(visitor.folder + "activity")
    let csrf = String(try #require(page.text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/)).1)
    let read = try await visitor.post(visitor.folder + "activity/read", [("csrf", csrf), ("all", "1")])
    #expect(read.status == 303 && read.header("Location") == visitor.folder + "activity", "\(read.text)")
    let reading = try await visitor.post(visitor.folder + "read", [("csrf", csrf)])
    #expect(reading.header("Location")?.hasPrefix(visitor.folder + "jobs/") == true)
    // The feed, for a reader that can only open an address.
    let link = try #require(visitor.addresses("href", in: page.text).first { $0.contains("feed.atom") })
    let feed = try await visitor.get(link, isLoggedIn: false)
    #expect(feed.status == 200 && feed.text.contains("<entry>"))
    #expect(feed.text.contains("href=\"\(visitor.origin)\(visitor.folder)feed.atom\""), "\(feed.text.prefix(600))")
    let token = try #require(link.firstMatch(of: /token=[0-9a-f]{32}$/)).0
    for page in ["activity", "live", "settings", "shops"] {
      #expect(try await visitor.get("\(visitor.folder)\(page)?\(token)", isLoggedIn: false).status == 401, "\(page)")
    }
    #expect(try await visitor.get(visitor.folder + "feed.atom", isLoggedIn: false).status == 401)
    #expect(try await visitor.get(link + "0", isLoggedIn: false).status == 401)
    // News arrives at once.
    let (current, count) = (visitor, served.server.livePageCount)
    // The first event, which greets the page, has less than 50 bytes.
    let stream = Task { try await current.get(current.folder + "live", enough: 50) }
    try await eventually("the stream is open") { served.server.livePageCount != count }
    try await served.changePrice(to: 3)
    let events = try await stream.value.text
    #expect(events.contains("event: news") && events.components(separatedBy: "event: ").count > 2, "\(events)")
  }

  @Test(
    .enabled(if: ReverseProxy.missing == nil, "\(ReverseProxy.missing ?? "")"), arguments: ReverseProxy.Kind.allCases,
    [(folder: "/", isRemoved: false), ("/watch/", false), ("/watch/", true), ("/a/shops/", true)])
  func anEveningBehind(_ kind: ReverseProxy.Kind, _ site: (folder: String, isRemoved: Bool)) async throws {
    let socket = try PassedSocket("127.0.0.1")
    let port = try PassedSocket("127.0.0.1", listens: false)
    let visitor = Visitor(port: port.port, folder: site.folder)
    try await ServedBench.use { configuration in
      configuration.listeningDescriptor = socket.descriptor
      configuration.publicAddress = PublicAddress(visitor.origin + site.folder)
      configuration.accessToken = Self.token
    } _: { served in
      #expect(served.url + "/" == visitor.origin + site.folder)
      let proxy = try await ReverseProxy(
        kind, at: port.port, for: socket.port, folder: site.folder, removesFolder: site.isRemoved)
      try await evening(served, visitor)
      withExtendedLifetime((proxy, port)) {}
    }
  }
}

/// The page as browsers see it, by TLS and HTTP/2.
extension ReverseProxyTests {
  @Test(
    .enabled(if: ReverseProxy.missing == nil, "\(ReverseProxy.missing ?? "")"), arguments: ReverseProxy.Kind.allCases)
  func aLoginByTLS(_ kind: ReverseProxy.Kind) async throws {
    let directory = try TemporaryDirectory()
    let (socket, port) = (try PassedSocket("127.0.0.1"), try PassedSocket("127.0.0.1", listens: false))
    let origin = "https://nas.example:\(port.port)"
    let identity = try await Self.run(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=nas.example \
        -addext subjectAltName=DNS:nas.example -days 9 -keyout key -out chain
      cat chain key >identity
      """, in: directory)
    #expect(identity.status == 0, "\(identity.errors)")
    try await ServedBench.use { configuration in
      configuration.listeningDescriptor = socket.descriptor
      configuration.publicAddress = PublicAddress(origin + "/watch/")
      configuration.accessToken = Self.token
    } _: { _ in
      let proxy = try await ReverseProxy(
        kind, at: port.port, for: socket.port, folder: "/watch/", removesFolder: false,
        identity: directory.path("identity"))
      let ended = try await Self.run(
        """
        ask() {
          curl -sS --http2 --noproxy '*' --cacert chain --resolve nas.example:\(port.port):127.0.0.1 \
            -b jar -c jar -o page -w '%{http_version} %{http_code} %{redirect_url}\\n' "$@"
        }
        ask \(origin)/watch/
        csrf=$(sed -nE 's/.*name="csrf" value="([0-9a-f]+)".*/\\1/p' page | head -n 1)
        ask -H 'Origin: \(origin)' -d "csrf=$csrf" --data-urlencode 'token=\(Self.token)' \(origin)/watch/login
        ask \(origin)/watch/activity
        """, in: directory)
      #expect(ended.lines == ["2 401 ", "2 303 \(origin)/watch/", "2 200 "], "\(ended.text)\(ended.errors)")
      withExtendedLifetime((proxy, port)) {}
    }
  }

  private static func run(_ script: String, in directory: TemporaryDirectory) async throws -> EndedProgram {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", script]
    process.currentDirectoryURL = directory.url
    return try await RunningProgram(process, in: directory.url).ended()
  }
}

/// The page as a proxy that is not part of Debian asks for it, by the fields that Traefik 2 and 3 send.
extension ReverseProxyTests {
  private static let address = PublicAddress("https://nas.example/watch/")

  /// Sends a request as Traefik does for a client, with or without the middleware that removes the folder.
  private func traefik(
    _ port: UInt16, _ line: String, removesFolder: Bool, client: String = "192.0.2.1", host: String = "nas.example",
    _ fields: [String] = [], body: String = ""
  ) async throws -> RawAnswer {
    let head =
      [
        "\(removesFolder ? line.replacing(" /watch/", with: " /") : line) HTTP/1.1", "Host: \(host)",
        "X-Forwarded-For: \(client)", "X-Forwarded-Host: nas.example", "X-Forwarded-Port: 443",
        "X-Forwarded-Proto: https", "X-Forwarded-Server: traefik", "X-Real-Ip: \(client)", "Connection: close",
        "Content-Length: \(body.utf8.count)", "Content-Type: application/x-www-form-urlencoded",
      ] + (removesFolder ? ["X-Forwarded-Prefix: /watch"] : []) + fields
    return try await exchange(port, head.joined(separator: "\r\n") + "\r\n\r\n" + body)
  }

  private func use(_ body: (ServedBench, UInt16) async throws -> Void) async throws {
    let socket = try PassedSocket("127.0.0.1")
    try await ServedBench.use { configuration in
      configuration.listeningDescriptor = socket.descriptor
      configuration.publicAddress = Self.address
      configuration.accessToken = Self.token
    } _: {
      try await body($0, socket.port)
    }
  }

  @Test(arguments: [false, true]) func anEveningBehindTraefik(removesFolder: Bool) async throws {
    try await use { served, port in
      #expect(served.url == "https://nas.example/watch")
      let page = try await traefik(port, "GET /watch/", removesFolder: removesFolder)
      #expect(page.status == 401 && page.text.contains("action=\"/watch/login\""))
      let csrf = String(try #require(page.text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/)).1)
      let form = FormCoding.encoded([("csrf", csrf), ("token", Self.token)])
      let origin = "Origin: https://nas.example"
      let login = try await traefik(port, "POST /watch/login", removesFolder: removesFolder, [origin], body: form)
      let cookie = try #require(login.header("Set-Cookie"))
      #expect(login.status == 303 && login.header("Location") == "/watch/")
      #expect(cookie.hasPrefix("__Secure-watchify-session=") && cookie.contains("; Path=/watch; "), "\(cookie)")
      #expect(cookie.hasSuffix("; Secure"))
      let session = "Cookie: \(cookie.prefix { $0 != ";" })"
      let start = try await traefik(port, "GET /watch/", removesFolder: removesFolder, [session])
      #expect(start.header("Location") == "/watch/activity")
      let bare = try await traefik(port, "GET /watch", removesFolder: false, [session])
      #expect(bare.header("Location") == "/watch/activity")
      let news = try await traefik(port, "GET /watch/activity", removesFolder: removesFolder, [session])
      #expect(news.status == 200 && news.text.contains("action=\"/watch/logout\""), "the page offers to log out")
      let feed = try await traefik(port, "GET /watch/feed.atom?type=price", removesFolder: removesFolder, [session])
      #expect(feed.text.contains("href=\"https://nas.example/watch/feed.atom?type=price\""))
      for wrong in ["http://nas.example", "https://evil.example", "https://nas.example:8443", "null"] {
        let answer = try await traefik(
          port, "POST /watch/read", removesFolder: removesFolder, [session, "Origin: \(wrong)"],
          body: FormCoding.encoded([("csrf", csrf)]))
        #expect(answer.status == 403, "\(wrong)")
      }
      let read = try await traefik(
        port, "POST /watch/read", removesFolder: removesFolder, [session, origin],
        body: FormCoding.encoded([("csrf", csrf)]))
      #expect(read.header("Location")?.hasPrefix("/watch/jobs/") == true)
    }
  }

  /// No field of a request can make another name acceptable, since scripts of a rebound name can send all of them.
  @Test func otherHostsStayRefused() async throws {
    try await use { _, port in
      for (host, isOwn) in [
        ("nas.example", true), ("NAS.example", true), ("nas.example:443", true), ("127.0.0.1:\(port)", true),
        ("localhost:\(port)", true), ("nas.example:8443", false), ("127.0.0.1", false), ("evil.example", false),
        ("evil.example:\(port)", false), ("nas.example.evil.example", false),
      ] {
        let answer = try await traefik(port, "GET /watch/", removesFolder: false, host: host)
        #expect(answer.status == (isOwn ? 401 : 421), "\(host)")
      }
    }
  }

  /// A client that guesses locks out only itself, and only a proxy's word counts on who that is.
  @Test func clientsAreToldApart() async throws {
    try await use { _, port in
      let page = try await traefik(port, "GET /watch/", removesFolder: false)
      let csrf = String(try #require(page.text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/)).1)
      func guess(_ token: String, _ client: String) async throws -> Int? {
        let body = FormCoding.encoded([("csrf", csrf), ("token", token)])
        return try await traefik(port, "POST /watch/login", removesFolder: false, client: client, body: body).status
      }
      for number in 0..<10 { #expect(try await guess("wrong", "198.51.100.\(number), 192.0.2.1") == 403) }
      #expect(try await guess(Self.token, "192.0.2.1") == 429)
      #expect(try await guess(Self.token, "192.0.2.1, 127.0.0.1") == 429, "through two proxies of this device")
      #expect(try await guess(Self.token, "::ffff:192.0.2.1") == 429)
      #expect(try await guess(Self.token, "192.0.2.1:5000") == 429)
      #expect(try await guess(Self.token, "192.0.2.2") == 303)
      for number in 0..<10 { #expect(try await guess("wrong", "[2001:db8::\(number)]:\(number + 5_000)") == 403) }
      #expect(try await guess(Self.token, "2001:db8::a") == 429)
      for number in 0..<10 { #expect(try await guess("wrong", "unknown-\(number)") == 403) }
      #expect(try await guess(Self.token, "unknown") == 429, "what names nobody counts as the proxy")
      for _ in 0..<11 {
        #expect(
          try await traefik(port, "GET /watch/feed.atom?token=0", removesFolder: false, client: "192.0.2.3").status
            == 401)
      }
      #expect(try await guess(Self.token, "192.0.2.3") == 303, "a reader with an old token locks nobody out")
    }
    let socket = try PassedSocket("127.0.0.1")
    try await ServedBench.use { configuration in
      configuration.listeningDescriptor = socket.descriptor
      configuration.accessToken = Self.token
    } _: { _ in
      for number in 0..<11 {
        let answer = try await traefik(
          socket.port, "GET /feed.atom", removesFolder: false, client: "192.0.2.\(number)",
          host: "127.0.0.1:\(socket.port)", ["Authorization: Bearer wrong"])
        #expect(answer.status == 401)
      }
      let guarded = try await traefik(
        socket.port, "GET /feed.atom", removesFolder: false, client: "192.0.2.99", host: "127.0.0.1:\(socket.port)",
        ["Authorization: Bearer \(Self.token)"])
      #expect(guarded.status == 401, "nobody's word counts without a proxy")
    }
  }

  @Test(arguments: [
    ("https://nas.example", "https://nas.example/"), ("HTTPS://NAS.example:443/", "https://nas.example/"),
    ("https://nas.example:8443/a/b", "https://nas.example:8443/a/b/"), ("http://[::1]:80/x/", "http://[::1]/x/"),
    ("nas.example", nil), ("ftp://nas.example/", nil), ("https:///x", nil), ("https://u:p@nas.example/", nil),
    ("https://nas.example/?q", nil), ("https://nas.example/#a", nil), ("https://nas.example/a b/", nil),
    ("https://nas.example/../x", nil), ("https://nas.example/%2e%2e/", nil), ("https://nas.example/\"/", nil),
    ("https://nas.example/shops/", nil), ("https://nas.example/feed.atom", nil), ("https://nas.example:0/", nil),
    ("", nil),
  ])
  func publicAddresses(_ text: String, _ expected: String?) {
    #expect(PublicAddress(text)?.description == expected)
  }

  @Test func aPublicAddressNeedsTokenAndTLS() async throws {
    var configuration = SiteServer.Configuration()
    configuration.port = 0
    configuration.publicAddress = PublicAddress("http://nas.example/")
    await #expect(throws: SiteServer.Refusal.needsToken(host: "nas.example")) { try await serve(configuration) }
    configuration.accessToken = Self.token
    await #expect(throws: SiteServer.Refusal.needsTLS(host: "nas.example")) { try await serve(configuration) }
    configuration.publicAddress = Self.address
    try await serve(configuration)
    configuration.accessToken = nil
    configuration.publicAddress = PublicAddress("http://localhost:8080/watch/")
    try await serve(configuration)
  }

  private func serve(_ configuration: SiteServer.Configuration) async throws {
    try await ServedBench.use {
      $0 = configuration
    } _: { _ in
    }
  }
}
