import CofferCore
import CofferFileSystem
import CofferSecrets
import CofferTestSupport
import Foundation

/// A bus that accepts and counts connections and never sends anything, or closes them at once, with a temporary data
/// directory.
final class HangingBus: @unchecked Sendable {
  // Sendable because the source is only cancelled, in deinit.
  private let folder: TemporaryDirectory
  private let source: any DispatchSourceRead
  private let accepted = Locked<[CInt]>([])

  init(hangsUp: Bool = false) throws {
    folder = try TemporaryDirectory()
    let path = folder.path("bus")
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(100))) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard bound, listen(descriptor, 64) == 0 else { throw TestFailure("cannot listen at \(path): errno \(errno)") }
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "hanging bus"))
    source.setEventHandler { [accepted] in
      while case let caller = accept(descriptor, nil, nil), caller >= 0 {
        accepted.withLock { $0.append(caller) }
        if hangsUp { shutdown(caller, CInt(SHUT_RDWR)) }
      }
    }
    source.setCancelHandler { [accepted] in
      close(descriptor)
      for caller in accepted.withLock({ $0 }) { close(caller) }
    }
    source.resume()
  }

  deinit { source.cancel() }

  var address: String { "unix:path=\(folder.path("bus"))" }

  /// The number of connections so far.
  var attempts: Int { accepted.withLock { $0.count } }

  func path(_ name: String) -> String { folder.path(name) }

  /// Runs `body` with this directory instead of the user's data directory.
  func use<R>(_ body: () async throws -> R) async rethrows -> R {
    let data = path("data")
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") { $0 == "XDG_DATA_HOME" ? data : nil }
    return try await SystemDirectories.$current.withValue(system, operation: body)
  }
}
