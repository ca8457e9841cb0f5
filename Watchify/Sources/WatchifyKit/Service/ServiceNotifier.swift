import Foundation

/// Reports the state of this process to a service manager, by the protocol of sd_notify(3).
///
/// ```swift
/// let service = ServiceEnvironment.take()
/// service.notifier?.notify(.ready, status: "Watching 3 stores")
/// ```
///
/// Every message is one datagram to the socket that the manager named in `NOTIFY_SOCKET`, so that messages of several
/// threads do not mix.
public struct ServiceNotifier: Sendable {
  /// A change of the state of a service.
  public enum State: Sendable {
    /// The service has started, or has completed a reload. A unit of `Type=notify` counts as started from then on.
    case ready
    /// The service adopts a changed configuration; ``ready`` must follow.
    case reloading
    /// The service is shutting down.
    case stopping
  }

  /// The time after which the manager ends a service that has not sent a keep-alive message; `nil` if it expects none.
  public let watchdogTime: Duration?
  /// The path of the socket; one that begins with `@` is in the abstract namespace of unix(7).
  private let path: String

  /// Creates a notifier.
  /// - Parameters:
  ///   - path: the value of `NOTIFY_SOCKET`. `nil` is returned for a value that is neither an absolute path nor
  ///     abstract, or is too long for a socket.
  ///   - watchdogTime: the time after which the manager expects a keep-alive message.
  public init?(path: String, watchdogTime: Duration? = nil) {
    guard let first = path.utf8.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@") else { return nil }
    guard path.utf8.count > 1, path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
    self.path = path
    self.watchdogTime = watchdogTime
  }

  /// Sends a change of state, a status line, or both.
  ///
  /// - Parameters:
  ///   - state: the new state; `nil` if it is unchanged.
  ///   - status: a line that `systemctl status` shows. Line breaks are replaced: each line of a message is a variable.
  /// - Returns: Whether the manager's socket accepted the message. A service works on without one.
  @discardableResult
  public func notify(_ state: State? = nil, status: String? = nil) -> Bool {
    var lines: [String] = []
    switch state {
    case .ready: lines.append("READY=1")
    case .reloading: lines += ["RELOADING=1", "MONOTONIC_USEC=\(Self.monotonicMicroseconds)"]
    case .stopping: lines.append("STOPPING=1")
    case nil: break
    }
    if let status {
      let text = status.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : String($0) }.joined()
      lines.append("STATUS=" + text.prefix(500))
    }
    return lines.isEmpty || send(lines.joined(separator: "\n"))
  }

  /// Sends the keep-alive message of the watchdog.
  /// - Returns: Whether the manager's socket accepted it.
  @discardableResult
  public func keepAlive() -> Bool { send("WATCHDOG=1") }

  /// Sends keep-alive messages, two in each ``watchdogTime``, as long as a loop makes progress; returns when the task
  /// is cancelled, or at once if the manager expects none.
  ///
  /// A loop that is stuck is not kept alive, so that the manager restarts the service.
  /// - Parameter pulse: the progress of the loop.
  public func keepAlive(by pulse: LoopPulse) async {
    await keepAlive(by: pulse) { try await Task.sleep(for: $0) }
  }

  func keepAlive(by pulse: LoopPulse, sleep: (Duration) async throws -> Void) async {
    guard let watchdogTime else { return }
    while !Task.isCancelled {
      if pulse.isOnTime { keepAlive() }
      do { try await sleep(watchdogTime / 2) } catch { return }
    }
  }

  private static var monotonicMicroseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  #if !canImport(Network)
    private func send(_ message: String) -> Bool {
      let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      // A manager that does not read for so long must not stop the service as well.
      var limit = timeval(tv_sec: 5, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var name = Array(path.utf8)
      let isAbstract = name.first == UInt8(ascii: "@")
      if isAbstract { name[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
      // The length of an abstract name is exact; a path ends with a zero.
      let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
      let length = socklen_t(offset + name.count + (isAbstract ? 0 : 1))
      let bytes = Array(message.utf8)
      return withUnsafeBytes(of: &address) { address in
        while true {
          let target = address.baseAddress?.assumingMemoryBound(to: sockaddr.self)
          let count = sendto(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), target, length)
          if count >= 0 || errno != EINTR { return count == bytes.count }
        }
      }
    }
  #else
    /// Other systems have no such manager.
    private func send(_ message: String) -> Bool { false }
  #endif
}
