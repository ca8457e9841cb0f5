import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

/// Runs a body with a server that is stopped at the end.
func withServer<R>(
  limits: HTTPServer.Limits = .init(), _ handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
  _ body: (HTTPServer, UInt16) async throws -> R
) async throws -> R {
  let server = HTTPServer(configuration: .init(limits: limits), handler: handler)
  let port = try server.start()
  do {
    let result = try await body(server, port)
    await server.stop(grace: .zero)
    return result
  } catch {
    await server.stop(grace: .zero)
    throw error
  }
}

/// Returns the handler, so that calls of `withServer` have one closure.
func serving(
  _ handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
) -> @Sendable (HTTPRequest) async -> HTTPResponse { handler }

/// A handler that describes the request.
@Sendable func describe(_ request: HTTPRequest) async -> HTTPResponse {
  let query = request.query.map { "\($0)=\($1)" }
  let body = String(decoding: request.body, as: UTF8.self)
  return HTTPResponse(200, "text/plain", "\(request.method) \(request.path) \(query) \(body)")
}

@Suite("A server")
struct ServerTests {
  @Test("answers requests, several over one connection")
  func keepAlive() async throws {
    try await withServer(describe) { _, port in
      let text = try await Client.exchange(
        port,
        request("GET /a%2Fb/c?x=1+2", close: false) + request("POST /form", body: "p=q", close: false)
          + request("GET http://TEST/there?y=%20"))
      let bodies = text.components(separatedBy: "HTTP/1.1 200 OK\r\n").dropFirst().map(\.payload)
      #expect(
        bodies == [
          #"GET ["a/b", "c"] ["x=1 2"] "#, #"POST ["form"] [] p=q"#, #"GET ["there"] ["y= "] "#,
        ])
    }
  }

  @Test("answers HEAD without the body")
  func head() async throws {
    try await withServer(describe) { _, port in
      let text = try await Client.exchange(port, request("HEAD /long"))
      #expect(text.status == 200 && text.payload.isEmpty && text.field("Content-Length") == "17")
      #expect(text.field("Date") != nil)
    }
  }

  @Test("awaits an expected body")
  func expect() async throws {
    try await withServer(describe) { _, port in
      let text = try await onThread {
        let client = try Client(port)
        client.send(
          "PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
        #expect(client.receive { $0.hasSuffix("\r\n\r\n") }.text.status == 100)
        client.send("body")
        return client.receive().text
      }
      #expect(text.status == 200 && text.payload == #"PUT ["x"] [] body"#)
    }
  }
}
