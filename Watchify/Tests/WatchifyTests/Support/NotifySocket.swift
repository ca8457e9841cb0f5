import CofferTesting
import Foundation
import Testing

/// The socket of a service manager.
final class NotifySocket: Sendable {
  private let descriptor: CInt
  /// The value of `NOTIFY_SOCKET`.
  let path: String

  /// Binds a socket; a path that begins with `@` is in the abstract namespace.
  init?(_ path: String) {
    self.path = path
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    guard name.count < 108 else { return nil }
    let isAbstract = name.first == UInt8(ascii: "@")
    if isAbstract { name[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(2 + name.count + (isAbstract ? 0 : 1))
    let bound = withUnsafeBytes(of: &address) { bytes in
      bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
    }
    guard bound == 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Returns the next message; `nil` if there is none.
  func message(within milliseconds: CInt = 0) -> String? {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count >= 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  /// Returns all messages up to the first that contains a text.
  func messages(until text: String) async throws -> [String] {
    var all: [String] = []
    try await eventually("the message '\(text)'") {
      while let next = message() {
        all.append(next)
        if next.contains(text) { return true }
      }
      return false
    }
    return all
  }
}
