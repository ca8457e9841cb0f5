import CofferCore
import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

@Suite("A server keeps", .serialized)
struct LeakTests {
  private var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

  /// The resident memory in bytes.
  private var memory: Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
  }

  @Test(
    "little memory for a page that waits for events",
    .disabled(if: isThreadSanitized, "the thread sanitizer keeps memory of its own for each page"))
  func idlePages() async throws {
    let calls = Calls()
    try await withServer(
      serving { _ in
        ServerSentEvents.response(
          ServerSentEvents.stream {
            _ = try await calls.waitForEnd()
            return nil
          })
      }
    ) { _, port in
      func open(_ count: Int) async throws -> [Client] {
        let before = calls.begun
        let clients = try (0..<count).map { _ in
          let client = try Client(port)
          client.send(request("GET /events", close: false))
          return client
        }
        try await eventually("all pages are open") { calls.begun == before + count }
        return clients
      }
      let first = try await open(50)  // pools and caches of the first connections
      // Other suites allocate in the same process, so the least of several rounds counts.
      var pages: [Client] = []
      var least = Int.max
      for _ in 0..<4 {
        let before = memory
        pages += try await open(50)
        least = min(least, (memory - before) / 50)
      }
      print("an idle page costs \(least) bytes of resident memory")
      #expect(least < 25_000)
      _ = (first, pages)
    }
    try await eventually("all bodies are cancelled") { calls.cancelled == 250 }
  }

  @Test("no descriptor, task or memory after 10,000 requests")
  func manyRequests() async throws {
    let alive = Locked(0)
    final class Token: Sendable {
      let alive: Locked<Int>
      init(_ alive: Locked<Int>) {
        self.alive = alive
        alive.withLock { $0 += 1 }
      }
      deinit { alive.withLock { $0 -= 1 } }
    }
    let files = openFiles
    let server = HTTPServer { request in
      let token = Token(alive)
      let isFirst = Locked(true)
      return HTTPResponse(
        200,
        body: .stream(
          length: request.path == ["fixed"] ? 100 : nil,
          HTTPBodyStream {
            _ = token
            let first = isFirst.withLock { value in
              defer { value = false }
              return value
            }
            return first ? [UInt8](repeating: 65, count: 100) : nil
          }))
    }
    let port = try server.start()
    @Sendable func ask(_ count: Int) throws {
      for number in 0..<(count / 100) {
        let client = try Client(port)
        let target = number.isMultiple(of: 2) ? "/" : "/fixed"
        let text = String(repeating: request("GET \(target)", close: false), count: 99) + request("GET \(target)")
        client.send(text)
        let answers = client.receive().text.components(separatedBy: "HTTP/1.1 200 OK").count - 1
        #expect(answers == 100)
      }
    }
    try await onThread { try ask(2_000) }
    let before = memory
    try await onThread { try ask(10_000) }
    let growth = memory - before
    print("10,000 requests left \(growth) bytes of resident memory")
    #expect(growth < 4 << 20)
    await server.stop(grace: .zero)
    #expect(alive.withLock { $0 } == 0)
    #expect(openFiles <= files + 2)  // other suites may open some
  }
}
