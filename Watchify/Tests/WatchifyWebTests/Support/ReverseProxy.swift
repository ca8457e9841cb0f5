import CofferTesting
import Foundation
import WatchifyTestSupport

/// A real reverse proxy at a port of this device, in front of a server at another.
final class ReverseProxy: Sendable {
  /// The programs, each as a Debian package of that name.
  enum Kind: String, CaseIterable, Sendable {
    case nginx, caddy

    fileprivate var program: String { self == .nginx ? "/usr/sbin/nginx" : "/usr/bin/caddy" }
  }

  /// The reason why tests with proxies cannot run here; `nil` if they can.
  static var missing: String? {
    let absent = Kind.allCases.map(\.program).filter { !FileManager.default.isExecutableFile(atPath: $0) }
    return absent.isEmpty ? nil : "not installed: \(absent.joined(separator: ", "))"
  }

  private let directory: TemporaryDirectory
  private let process = Process()

  /// Starts a proxy, and waits until it listens.
  /// - Parameters:
  ///   - port: a port that it may share: see ``PassedSocket``.
  ///   - folder: the folder below which it forwards requests, which begins and ends with "/".
  ///   - removesFolder: whether it removes the folder from requests.
  ///   - identity: a file with the certificate and the key for TLS; `nil` for plain HTTP.
  init(
    _ kind: Kind, at port: UInt16, for server: UInt16, folder: String, removesFolder: Bool, identity: String? = nil
  ) async throws {
    directory = try TemporaryDirectory()
    let folderPath = directory.url.path
    let text: String
    switch kind {
    case .nginx:
      let names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      let paths = names.map { "\($0)_temp_path \(folderPath)/\($0);" }.joined(separator: " ")
      let tls = identity.map { "ssl http2; ssl_certificate \($0); ssl_certificate_key \($0)" } ?? ""
      text = """
        daemon off; master_process off; pid \(folderPath)/pid; error_log stderr;
        events {}
        http {
          access_log off; \(paths)
          server {
            listen 127.0.0.1:\(port) reuseport \(tls);
            location \(folder) {
              proxy_pass http://127.0.0.1:\(server)\(removesFolder ? "/" : "");
              proxy_set_header X-Forwarded-For $remote_addr;
            }
          }
        }

        """
      process.arguments = ["-p", folderPath, "-e", "stderr", "-c", directory.path("conf")]
    case .caddy:
      text = """
        {
          admin off
          auto_https off
        }
        \(identity == nil ? "http" : "https")://:\(port) {
          bind 127.0.0.1
          \(identity.map { "tls \($0) \($0)" } ?? "")
          \(removesFolder ? "handle_path" : "handle") \(folder)* {
            reverse_proxy 127.0.0.1:\(server)
          }
        }

        """
      process.arguments = ["run", "--config", directory.path("conf"), "--adapter", "caddyfile"]
    }
    try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path("conf")))
    process.executableURL = URL(fileURLWithPath: kind.program)
    process.environment = ["HOME": folderPath, "PATH": "/usr/bin:/bin"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let errors = directory.path("errors")
    try Data().write(to: URL(fileURLWithPath: errors))
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.runUnblocked()
    try await eventually("\(kind) listens") {
      if (try? await ask(port, "/", method: "HEAD"))?.status != nil { return true }
      guard process.isRunning else {
        let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        throw TestFailure("\(kind) does not listen: \(text.suffix(1_000))")
      }
      return false
    }
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
}
