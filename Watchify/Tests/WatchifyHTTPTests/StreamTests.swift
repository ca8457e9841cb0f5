import CofferCore
import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

/// Counts calls and cancellations of bodies.
final class Calls: Sendable {
  private let state = Locked((begun: 0, cancelled: 0))
  var begun: Int { state.withLock { $0.begun } }
  var cancelled: Int { state.withLock { $0.cancelled } }
  @discardableResult func begin() -> Int {
    state.withLock {
      $0.begun += 1
      return $0.begun
    }
  }

  /// Waits until the task is cancelled.
  func waitForEnd() async throws -> [UInt8]? {
    begin()
    do {
      try await hang()
      return nil
    } catch {
      state.withLock { $0.cancelled += 1 }
      throw error
    }
  }
}

@Suite("A streamed body")
struct StreamTests {
  /// A body of numbered parts, and an end.
  private func parts(_ count: Int, length: Int? = nil, then end: HTTPAbort? = nil) -> HTTPResponse {
    let calls = Calls()
    return HTTPResponse(
      200,
      body: .stream(
        length: length,
        HTTPBodyStream {
          let number = calls.begin()
          if number <= count { return Array("part \(number) ".utf8) }
          if let end { throw end }
          return nil
        }))
  }

  @Test("is sent in chunks, or with its length")
  func whole() async throws {
    try await withServer(serving { self.parts(3, length: $0.path == ["length"] ? 21 : nil) }) { _, port in
      let chunked = try await Client.exchange(port, request("GET /"))
      #expect(chunked.field("Transfer-Encoding") == "chunked" && chunked.hasSuffix("\r\n0\r\n\r\n"))
      #expect(chunked.contains("part 1 ") && chunked.contains("part 3 "))
      let exact = try await Client.exchange(port, request("GET /length"))
      #expect(exact.field("Content-Length") == "21" && exact.payload == "part 1 part 2 part 3 ")
      let head = try await Client.exchange(port, request("HEAD /length"))
      #expect(head.field("Content-Length") == "21" && head.payload.isEmpty)
    }
  }

  @Test("that ends early closes or resets the connection", arguments: [HTTPAbort.close, .reset])
  func aborted(_ abort: HTTPAbort) async throws {
    try await withServer(serving { self.parts($0.path == ["none"] ? 0 : 1, length: 100, then: abort) }) { _, port in
      let end = try await onThread {
        let client = try Client(port)
        client.send(request("GET /"))
        return client.receive()
      }
      #expect(end.ending == (abort == .close ? .closed : .reset))
      #expect(end.text.payload.count <= 7)
    }
    try await withServer(serving { _ in HTTPResponse(200, body: .abort(abort)) }) { _, port in
      let end = try await onThread {
        let client = try Client(port)
        client.send(request("GET /"))
        return client.receive()
      }
      #expect(end.text.isEmpty && end.ending == (abort == .close ? .closed : .reset))
    }
  }

  @Test("longer or shorter than its length never reaches the next response")
  func wrongLength() async throws {
    try await withServer(serving { self.parts(3, length: $0.path == ["long"] ? 100 : 10) }) { _, port in
      let two = try await Client.exchange(port, request("GET /short", close: false) + request("GET /long"))
      let answers = two.components(separatedBy: "HTTP/1.1 200 OK").dropFirst().map(\.payload)
      #expect(answers == ["part 1 par", "part 1 part 2 part 3 "])
    }
  }

  @Test("is cancelled when its client is gone")
  func gone() async throws {
    let calls = Calls()
    try await withServer(
      serving { request in
        if request.path == ["handler"] {
          _ = try? await calls.waitForEnd()
          return HTTPResponse(200)
        }
        return HTTPResponse(200, body: .stream(length: nil, HTTPBodyStream { try await calls.waitForEnd() }))
      }
    ) { _, port in
      for (index, path) in ["stream", "handler"].enumerated() {
        do {
          let client = try Client(port)
          client.send(request("GET /\(path)"))
          try await eventually("the body is read") { calls.begun == index + 1 }
        }
        try await eventually("the body is cancelled") { calls.cancelled == index + 1 }
      }
    }
  }

  @Test("waits for a client that does not read, and ends by the idle timeout")
  func backPressure() async throws {
    let calls = Calls()
    var limits = HTTPServer.Limits()
    limits.idleTimeout = .seconds(1)
    final class Token: Sendable {
      let calls: Calls
      init(_ calls: Calls) { self.calls = calls }
      deinit { calls.begin() }
    }
    let released = Calls()
    try await withServer(
      limits: limits,
      serving { _ in
        let token = Token(released)
        return HTTPResponse(
          200,
          body: .stream(
            length: nil,
            HTTPBodyStream {
              _ = token
              calls.begin()
              return [UInt8](repeating: 65, count: 1 << 20)
            }))
      }
    ) { _, port in
      let client = try Client(port)
      client.send(request("GET /"))
      // Released by the timeout, after what the buffers of the system hold.
      try await eventually("the body is released") { released.begun == 1 }
      #expect(calls.begun < 50)
      _ = client
    }
  }

  @Test("has heartbeats while it waits")
  func heartbeat() async throws {
    let calls = Calls()
    let body = ServerSentEvents.stream(heartbeat: .milliseconds(5)) {
      if calls.begin() == 1 { return ServerSentEvent("hello", name: "a") }
      if calls.begun == 2 {
        try await Task.sleep(for: .milliseconds(300))  // time passes: heartbeats are sent
      }
      return nil
    }
    try await withServer(serving { _ in ServerSentEvents.response(body) }) { _, port in
      let text = try await Client.exchange(port, request("GET /"))
      #expect(text.field("Content-Type") == "text/event-stream; charset=utf-8")
      #expect(text.contains("event: a\ndata: hello\n\n"))
      #expect(text.components(separatedBy: ":\n\n").count > 3 && text.hasSuffix("0\r\n\r\n"))
      #expect(calls.begun == 2)
    }
  }

  @Test("of a sequence ends with it, and its iteration with the client")
  func sequence() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: ServerSentEvent.self)
    let ended = Calls()
    continuation.onTermination = { _ in ended.begin() }
    try await withServer(serving { _ in ServerSentEvents.response(events) }) { _, port in
      do {
        let client = try Client(port)
        client.send(request("GET /"))
        continuation.yield(ServerSentEvent("1", id: "7"))
        let text = try await onThread { client.receive { $0.contains("data: 1\n\n") }.text }
        #expect(text.contains("id: 7\n"))
      }
      try await eventually("the stream ends") { ended.begun == 1 }
    }
  }

  @Test("lasts during the time of grace, and ends with it", arguments: [true, false])
  func stop(ends: Bool) async throws {
    let calls = Calls()
    let gate = Calls()
    let server = HTTPServer { _ in
      HTTPResponse(
        200,
        body: .stream(
          length: nil,
          HTTPBodyStream {
            guard ends else { return try await calls.waitForEnd() }
            calls.begin()
            try await eventually("the gate opens") { gate.begun > 0 }
            return nil
          }))
    }
    let port = try server.start()
    let clients = (0..<50).map { _ in
      Task {
        try await onThread {
          let client = try Client(port)
          client.send(request("GET /"))
          return client.receive()
        }
      }
    }
    try await eventually("all bodies are read") { calls.begun == 50 }
    async let stopped: Void = server.stop(grace: ends ? .seconds(60) : .milliseconds(20))
    if ends {
      // Refused while the last responses are sent.
      try await eventually("clients are refused") { (try? Client(port)) == nil }
      gate.begin()
    }
    await stopped
    for client in clients {
      let end = try await client.value
      #expect(end.ending == .closed && end.text.hasSuffix("0\r\n\r\n") == ends)
    }
    #expect(calls.cancelled == (ends ? 0 : 50) && server.port == nil)
    try server.start()
    #expect(throws: HTTPServerError.isRunning) { try server.start() }
    server.terminate()
    server.terminate()
    await server.stop()
  }
}
