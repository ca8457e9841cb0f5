import Foundation

/// A listening socket that the service manager has opened for this process.
public struct ServiceSocket: Sendable, Equatable {
  /// The name of the socket: the name of its unit, unless the unit sets `FileDescriptorName=`.
  public let name: String
  /// The descriptor. It belongs to the receiver, and programs that this process starts do not inherit it.
  public let descriptor: CInt
}

/// What a service manager has passed to this process, by the protocols of sd_notify(3) and sd_listen_fds(3).
public struct ServiceEnvironment: Sendable {
  /// Reports the state of the process; `nil` if no manager asks for it.
  public let notifier: ServiceNotifier?
  /// The sockets that the manager listens on for this process, in its order.
  public let sockets: [ServiceSocket]

  private static let names = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID",
  ]

  /// Reads the variables of this process and removes them, so that a program which it starts is not mistaken for the
  /// service. Call it once, before other threads read the environment.
  public static func take() -> ServiceEnvironment {
    let environment = ServiceEnvironment { name in getenv(name).map { String(cString: $0) } }
    for name in names { unsetenv(name) }
    return environment
  }

  /// Interprets variables, and closes the passed descriptors to programs that this process starts.
  /// - Parameters:
  ///   - process: the identifier of this process. Variables that are meant for another one are ignored.
  ///   - firstDescriptor: the first passed descriptor; 3 by the protocol.
  ///   - variable: returns the value of a variable.
  init(process: pid_t = getpid(), firstDescriptor: CInt = 3, _ variable: (String) -> String?) {
    var watchdogTime: Duration?
    if let time = variable("WATCHDOG_USEC").flatMap(Int64.init), time > 0,
      variable("WATCHDOG_PID").map({ Int32($0) == process }) ?? true
    {
      watchdogTime = .microseconds(time)
    }
    notifier = variable("NOTIFY_SOCKET").flatMap { ServiceNotifier(path: $0, watchdogTime: watchdogTime) }
    guard variable("LISTEN_PID").flatMap(Int32.init) == process,
      let count = variable("LISTEN_FDS").flatMap(Int32.init), (1...Self.mostSockets).contains(count)
    else {
      sockets = []
      return
    }
    let given = variable("LISTEN_FDNAMES")?.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    let names = given.flatMap { $0.count == Int(count) ? $0 : nil }
    sockets = (0..<count).compactMap { index in
      let descriptor = firstDescriptor + index
      guard Self.keepPrivate(descriptor) else { return nil }
      return ServiceSocket(name: names?[Int(index)] ?? "unknown", descriptor: descriptor)
    }
  }

  /// More are not listened on; a large number would be a mistake.
  private static let mostSockets: Int32 = 64

  /// Returns whether a descriptor is an open socket, which started programs then do not inherit.
  private static func keepPrivate(_ descriptor: CInt) -> Bool {
    let flags = fcntl(descriptor, F_GETFD)
    guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else { return false }
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }
}
