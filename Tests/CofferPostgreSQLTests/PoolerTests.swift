import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

/// A pooler in transaction mode: it passes what a client sends up to each Sync to one of two sessions of the server.
private final class TestPooler: Sendable {
  let port: Int
  private let process: Process

  /// - Parameters:
  ///   - invents: whether clients are told another process than one of the server, as real poolers do.
  ///   - steady: the number of exchanges that go to the first session before the two alternate.
  init(to server: PostgreSQLServer, invents: Bool, steady: Int) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script, "\(server.port)", invents ? "1" : "0", "\(steady)"]
    let output = Pipe()
    let input = Pipe()
    (process.standardInput, process.standardOutput) = (input, output)
    try process.runUnblocked()
    self.process = process
    // The script ends with its input, and so with this object.
    self.input = input
    var line = ""
    while !line.hasSuffix("\n"), let data = try output.fileHandleForReading.read(upToCount: 1), !data.isEmpty {
      line += String(decoding: data, as: UTF8.self)
    }
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw TestFailure("the pooler did not start")
    }
    self.port = port
  }

  private let input: Pipe

  deinit { try? input.fileHandleForWriting.close() }

  private static let script = """
    import os, socket, struct, sys, threading
    target, invents, steady = int(sys.argv[1]), sys.argv[2] == "1", int(sys.argv[3])

    def exactly(s, n):
        data = b""
        while len(data) < n:
            part = s.recv(n - len(data))
            if not part: raise EOFError
            data += part
        return data

    def message(s):
        head = exactly(s, 5)
        return head + exactly(s, struct.unpack("!I", head[1:])[0] - 4)

    def answer(s, client):
        while True:
            m = message(s)
            if m[:1] == b"K" and invents: m = m[:5] + struct.pack("!II", 2000000001, 7)
            if client: client.sendall(m)
            if m[:1] == b"Z": return

    def serve(client):
        try:
            while True:
                size = struct.unpack("!I", exactly(client, 4))[0]
                body = exactly(client, size - 4)
                if body == struct.pack("!I", 80877103): client.sendall(b"N")
                else: break
            servers = [socket.create_connection(("127.0.0.1", target)) for _ in range(2)]
            for i, s in enumerate(servers):
                s.sendall(struct.pack("!I", size) + body)
                answer(s, client if i == 0 else None)
            count, batch = 0, b""
            while True:
                m = message(client)
                if m[:1] == b"X": return
                batch += m
                if m[:1] == b"S":
                    s = servers[0 if count < steady else count % 2]
                    s.sendall(batch)
                    answer(s, client)
                    count, batch = count + 1, b""
        except (EOFError, OSError): pass
        finally: client.close()

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def end():
        sys.stdin.buffer.read()
        os._exit(0)
    threading.Thread(target=end, daemon=True).start()
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}

@Suite(
  "PostgreSQL: poolers", .serialized, .blocking, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle),
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is not installed"))
struct PoolerTests {
  private func open(_ pooler: TestPooler, _ server: PostgreSQLServer) async throws -> ServerConnection {
    let text = server.location("postgres", port: pooler.port)
    return try await ServerConnection.open(try ConnectionTarget(text, PostgreSQLEngine.Configuration.patient))
  }

  @Test("A pooler is recognised when a connection is opened", arguments: [(true, 1_000), (false, 0)])
  func recognised(_ invents: Bool, _ steady: Int) async throws {
    let server = try await SharedServer.running()
    let pooler = try await TestPooler(to: server, invents: invents, steady: steady)
    await expectStorageError(.unsupported, contains: "connection pooler") { _ = try await open(pooler, server) }
  }

  @Test("A pooler that shows itself later only is recognised by a statement that it has lost")
  func recognisedLater() async throws {
    let server = try await SharedServer.running()
    let pooler = try await TestPooler(to: server, invents: false, steady: 3)
    let connection = try await open(pooler, server)
    let loss = await #expect(throws: ConnectionLoss.self) {
      for _ in 0..<4 { _ = try await connection.rows("SELECT 1") }
    }
    #expect(loss?.cause == .pooler && loss?.mayHaveRun == true && connection.loss?.cause == .pooler)
  }
}
