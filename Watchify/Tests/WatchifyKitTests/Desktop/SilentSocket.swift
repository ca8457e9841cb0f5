import CofferTesting
import Foundation

/// A bus that accepts connections and never sends a byte.
final class SilentSocket: Sendable {
  private let folder: TemporaryDirectory
  private let descriptor: CInt

  init() throws {
    folder = try TemporaryDirectory()
    let path = folder.path("bus")
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(100))) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    // No accept(2) is needed: the kernel completes connections within the backlog.
    guard bound, listen(descriptor, 16) == 0 else { throw TestFailure("cannot listen at \(path): errno \(errno)") }
  }

  deinit { close(descriptor) }

  var address: String { "unix:path=\(folder.path("bus"))" }
}
