import Testing
import WatchifyHTTP

@Suite("Requests, forms and events")
struct ValueTests {
  @Test("forms are decoded as browsers encode them")
  func forms() {
    func items(_ text: String) -> [String] { FormCoding.items(text).map { "\($0.name)=\($0.value)" } }
    #expect(items("a=1&b=x+y%21&c&=d&&a=2=3") == ["a=1", "b=x y!", "c=", "=d", "a=2=3"])
    #expect(items("%E2%82%AC=%e2%82%ac&bad=%&%f=%G0") == ["€=€", "bad=%", "%f=%G0"])
    #expect(items("x=%ff%00") == ["x=\u{FFFD}\0"])
    let odd = [(name: "a b&=", value: "1+1=2 % €\r\n"), (name: "", value: "")]
    let text = FormCoding.encoded(odd)
    #expect(text.utf8.allSatisfy { $0 < 128 } && items(text) == odd.map { "\($0.name)=\($0.value)" })
    #expect(FormCoding.encoded(component: "a/b ~") == "a%2Fb%20~")
  }

  @Test("any text survives coding")
  func roundTrip() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let scalars = (0..<8).map { _ in Unicode.Scalar(UInt32.random(in: 0..<0xD800, using: &generator)) ?? "?" }
      let text = String(String.UnicodeScalarView(scalars))
      let query = FormCoding.encoded([(name: text, value: text)])
      #expect(Array((FormCoding.items(query).first?.value ?? "").utf8) == Array(text.utf8))
      let request = HTTPRequest("GET", "/" + FormCoding.encoded(component: text) + "?" + query)
      #expect(Array((request.path.first ?? "").utf8) == Array(text.utf8))
      #expect(request.query.count == 1)
    }
  }

  @Test("a request finds fields, cookies and its form")
  func request() {
    let form = HTTPRequest(
      "POST", "/?a=1&a=2",
      headers: [
        ("content-TYPE", "Application/x-www-form-urlencoded; charset=utf-8"), ("Cookie", "a=1; b=x=y;c=; d"),
        ("cookie", "e=5"),
      ], body: Array("k=v+w".utf8))
    #expect(form.header("Content-Type")?.hasPrefix("Application") == true && form.header("X") == nil)
    #expect(form.queryValue("a") == "1" && form.queryValue("b") == nil)
    #expect(["a", "b", "c", "d", "e", "A"].map(form.cookie) == ["1", "x=y", "", nil, "5", nil])
    #expect(form.form.map(\.value) == ["v w"])
    #expect(HTTPRequest("POST", "/", body: Array("k=v".utf8)).form.isEmpty)
    for (target, path) in [("", []), ("?", []), ("*", ["*"]), ("http://h:1?x", []), ("://x", [":", "x"])] {
      #expect(HTTPRequest("GET", target).path == path, "\(target)")
    }
  }

  @Test("an event stays one event, whatever its text")
  func events() {
    func text(_ event: ServerSentEvent) -> String { String(decoding: event.bytes, as: UTF8.self) }
    #expect(text(ServerSentEvent("")) == "data: \n\n")
    #expect(
      text(ServerSentEvent("a\nb\r\nc\rd\n", name: "n", id: "1", retry: .seconds(2)))
        == "event: n\nid: 1\nretry: 2000\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n")
    #expect(
      text(ServerSentEvent("x\n\nevent: evil", name: "n\ndata: evil", id: "1\r\n\0"))
        == "event: ndata: evil\nid: 1\ndata: x\ndata: \ndata: event: evil\n\n")
  }

  @Test("an identity shows no key")
  func identity() {
    let identity = TLSIdentity(certificateChain: "chain", privateKey: "secret")
    var text = ""
    dump(HTTPServer.Configuration(tls: identity), to: &text)
    #expect(!("\(identity)" + String(reflecting: identity) + text).contains("secret"))
  }
}
