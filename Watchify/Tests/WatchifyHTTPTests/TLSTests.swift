import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

/// Runs a program; returns its status and its output.
private func run(_ words: [String], input: String = "") async throws -> (status: Int32, text: String) {
  try await onThread { try runBlocking(words, input) }
}

private func runBlocking(_ words: [String], _ input: String) throws -> (status: Int32, text: String) {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = words
  let (output, source) = (Pipe(), Pipe())
  process.standardOutput = output
  process.standardError = output
  process.standardInput = source
  try process.runUnblocked()
  try source.fileHandleForWriting.write(contentsOf: Data(input.utf8))
  try source.fileHandleForWriting.close()
  let data = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return (process.terminationStatus, String(decoding: data, as: UTF8.self))
}

@Suite("A server with TLS")
struct TLSTests {
  /// Calls a body with a new certificate for "localhost", as an identity and as a file.
  private func withIdentity(
    _ kind: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    _ body: (TLSIdentity, String) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (key, certificate) = (folder.appendingPathComponent("key.pem"), folder.appendingPathComponent("cert.pem"))
    let made = try await run(
      ["openssl", "req", "-x509", "-newkey"] + kind + [
        "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
        key.path, "-out", certificate.path,
      ])
    try #require(made.status == 0, "\(made.text)")
    let identity = TLSIdentity(
      certificateChain: try String(contentsOf: certificate, encoding: .utf8),
      privateKey: try String(contentsOf: key, encoding: .utf8))
    try await body(identity, certificate.path)
  }

  @Test("proves its name, refuses old versions and survives garbage")
  func requests() async throws {
    try await withIdentity(["rsa:2048"]) { identity, certificate in
      let server = HTTPServer(configuration: .init(tls: identity)) {
        HTTPResponse(200, "text/plain", "secure: \($0.isSecure)")
      }
      let port = try server.start()
      let url = "https://localhost:\(port)/"
      let right = try await run(["curl", "-sS", "--cacert", certificate, url])
      #expect(right.text == "secure: true")
      #expect(try await run(["curl", "-sS", url]).status == 60)  // an unknown issuer
      let wrong = ["--cacert", certificate, "--resolve", "other:\(port):127.0.0.1", "https://other:\(port)/"]
      #expect(try await run(["curl", "-sS"] + wrong).status == 60)
      let old = try await run(["curl", "-sS", "--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0", "-k", url])
      #expect(old.status == 35)
      // RFC 9325, 4.2: forward secrecy and authenticated encryption.
      for (cipher, status) in [
        ("ECDHE+AESGCM", 0), ("ECDHE+CHACHA20", 0), ("ECDHE+SHA:@SECLEVEL=0", 35), ("ECDHE+AES+SHA256", 35),
        ("kRSA:@SECLEVEL=0", 35),
      ] {
        let answer = try await run([
          "curl", "-sS", "--tls-max", "1.2", "--ciphers", cipher, "--cacert", certificate, url,
        ])
        #expect(answer.status == Int32(status), "\(cipher): \(answer.text)")
      }
      for garbage in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}", "\0\0\0\0\0\0\0\0"] {
        let answer = try await onThread {
          let client = try Client(port)
          client.send(garbage)
          shutdown(client.descriptor, Int32(SHUT_WR))
          return client.receive().text
        }
        #expect(!answer.hasPrefix("HTTP/1.1 200"))
      }
      _ = try Client(port)  // no handshake at all
      #expect(try await run(["curl", "-sS", "--cacert", certificate, url]).text == "secure: true")
      await server.stop(grace: .zero)
    }
  }

  @Test("streams")
  func stream() async throws {
    try await withIdentity { identity, certificate in
      let server = HTTPServer(configuration: .init(tls: identity)) { _ in
        let calls = Calls()
        return HTTPResponse(
          200,
          body: .stream(
            length: nil,
            HTTPBodyStream {
              let number = calls.begin()
              if number.isMultiple(of: 5) { await Task.yield() }
              return number <= 20 ? [UInt8](repeating: 65, count: 50_000) : nil
            }))
      }
      let port = try server.start()
      let url = "https://localhost:\(port)/"
      let answer = try await run([
        "curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}", "--cacert", certificate, url,
      ])
      #expect(answer.text == "1000000")
      await server.stop()
    }
  }

  @Test("is not started with an invalid identity")
  func invalid() async throws {
    try await withIdentity { _, certificate in
      let chain = try String(contentsOfFile: certificate, encoding: .utf8)
      for (chain, key) in [("", ""), ("x", "y"), (chain, "y"), (chain, chain)] {
        let identity = TLSIdentity(certificateChain: chain, privateKey: key)
        let server = HTTPServer(configuration: .init(tls: identity)) { _ in HTTPResponse(200) }
        #expect(throws: HTTPServerError.invalidIdentity) { try server.start() }
        #expect(server.port == nil)
      }
      let key = try String(contentsOfFile: certificate.replacing("cert.pem", with: "key.pem"), encoding: .utf8)
      let swapped = HTTPServer(configuration: .init(tls: TLSIdentity(certificateChain: key, privateKey: chain))) { _ in
        HTTPResponse(200)
      }
      #expect(throws: HTTPServerError.swappedIdentity) { try swapped.start() }
    }
  }
}
