import CofferBus
public import Foundation

/// Notifications on a Linux desktop, through `org.freedesktop.Notifications` on the session bus.
///
/// Calls block a private queue, each for at most `timeout`. The connection to the bus stays open between notifications,
/// because some desktops remove a program's notifications when its connection is closed.
public actor DesktopChannel: NotificationChannel {
  /// The name in settings: "desktop".
  public nonisolated let name = "desktop"
  /// The channel's private queue.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = QueueExecutor(label: "watchify.desktop")
  private let environment: @Sendable (String) -> String?
  private let timeout: Duration
  private let isCriticalAllowed: Bool
  private let replacements: (any DesktopReplacements)?

  private var connection: BusConnection?
  /// The id of the running bus.
  private var busIdentifier = ""
  private var server: Server?
  /// The notifications that this process has shown, by the UTF-8 bytes of the thread identifier.
  private var shown: [[UInt8]: DesktopReplacement] = [:]
  /// The threads whose last notification has timed out and not been answered since.
  private var unanswered: Set<[UInt8]> = []
  /// The notifications that were answered after the deadline: they are shown, although their delivery failed.
  private var late: [[UInt8]: (content: NotificationContent, at: ContinuousClock.Instant)] = [:]

  /// A running notification server.
  private struct Server {
    /// The server's unique name on the bus.
    let owner: String
    /// The id of the bus and the server's unique name.
    let identity: String
    let capabilities: [String]
  }

  private static let service = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  /// Creates a channel to the desktop's notification server. Connects on first use.
  /// - Parameters:
  ///   - replacements: stores the ids of shown notifications across restarts; if `nil`, they are kept for the lifetime
  ///     of the channel.
  ///   - criticalWhenTimeSensitive: whether `.timeSensitive` is sent as critical, which most desktops show until it is
  ///     dismissed.
  ///   - timeout: the deadline of each call; 5 s by default.
  ///   - environment: returns the environment variables that locate the bus; those of the process by default.
  public init(
    replacements: (any DesktopReplacements)? = nil, criticalWhenTimeSensitive: Bool = false,
    timeout: Duration = .seconds(5),
    environment: @escaping @Sendable (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
  ) {
    self.replacements = replacements
    isCriticalAllowed = criticalWhenTimeSensitive
    self.timeout = timeout
    self.environment = environment
  }

  /// Returns the name and version of the notification server, which is started if the bus can activate it.
  public func availability() async -> ChannelAvailability {
    do throws(ChannelError) {
      let server = try currentServer()
      let reply = try call("GetServerInformation", reply: "(ssss)", of: server)
      let words = [reply[0]?.text, reply[2]?.text].compactMap { $0 }.filter { !$0.isEmpty }
      return .available(detail: words.joined(separator: " "))
    } catch {
      return .unavailable(reason: error.reason)
    }
  }

  /// Shows a notification. Replaces the last one of its thread if the same server still runs.
  public func deliver(_ content: NotificationContent) async throws {
    let thread = Array(content.threadIdentifier.utf8)
    if let late = late.removeValue(forKey: thread), late.content == content, late.at.duration(to: .now) < .seconds(600)
    {
      return  // The timed-out call has been answered since.
    }
    guard !unanswered.contains(thread) else {
      throw ChannelError(
        "The notification server has not yet replied to the last notification of this store.", isTemporary: true)
    }
    let stored = try? await replacements?.replacement(forThread: content.threadIdentifier)
    let replacement = try show(content, stored: stored)
    // Losing the id only costs a second bubble later.
    try? await replacements?.remember(replacement, forThread: content.threadIdentifier)
  }

  /// Shows a notification. Must not suspend between reading the replaced id and recording the new one, because the
  /// actor may run another delivery meanwhile.
  private func show(_ content: NotificationContent, stored: DesktopReplacement?) throws(ChannelError)
    -> DesktopReplacement
  {
    let server = try currentServer()
    let thread = Array(content.threadIdentifier.utf8)
    // Ids ascend, so the greater one is the newer bubble, whichever process has shown it.
    let last = [shown[thread], stored].compactMap { $0 }.filter { $0.server == server.identity }.max { $0.id < $1.id }
    let message = DesktopMessage(
      content: content, capabilities: server.capabilities, replacedId: last?.id ?? 0,
      isCriticalAllowed: isCriticalAllowed)
    let id = try notify(message, content, server)
    let replacement = DesktopReplacement(id: id, server: server.identity)
    shown[thread] = replacement
    return replacement
  }

  /// Calls `Notify` and returns the server's id. A reply after the deadline is handled by `answeredLate(_:_:_:)`.
  private func notify(_ message: DesktopMessage, _ content: NotificationContent, _ server: Server) throws(ChannelError)
    -> UInt32
  {
    guard let connection else { throw report(BusFailure(.closed, "")) }
    let thread = Array(content.threadIdentifier.utf8)
    do throws(BusFailure) {
      let notify = BusMethod(Self.service, "Notify", reply: "(u)", changesSomething: true)
      let reply = try connection.call(notify, of: server.owner, at: Self.path, message.arguments) { [weak self] late in
        Task { await self?.answeredLate(late?[0]?.uint32, content, server.identity) }
      }
      return reply[0]?.uint32 ?? 0
    } catch {
      if error.kind == .timedOut { unanswered.insert(thread) }
      throw report(error)
    }
  }

  /// Records the late reply to a timed-out call.
  /// - Parameter id: the server's id of the notification; `nil` if no reply will come.
  private func answeredLate(_ id: UInt32?, _ content: NotificationContent, _ identity: String) async {
    let thread = Array(content.threadIdentifier.utf8)
    unanswered.remove(thread)
    guard let id else { return }
    let replacement = DesktopReplacement(id: id, server: identity)
    shown[thread] = replacement
    late[thread] = (content, .now)
    try? await replacements?.remember(replacement, forThread: content.threadIdentifier)
  }

  // MARK: The server

  /// Returns the current owner of the server's name, with its capabilities.
  private func currentServer() throws(ChannelError) -> Server {
    let (bus, owner) = try currentOwner()
    let identity = "\(bus)/\(owner)"
    if let server, server.identity == identity { return server }
    let unknown = Server(owner: owner, identity: identity, capabilities: [])
    let capabilities = try call("GetCapabilities", reply: "(as)", of: unknown)[0]?.texts ?? []
    let server = Server(owner: owner, identity: identity, capabilities: capabilities)
    self.server = server
    return server
  }

  private func currentOwner() throws(ChannelError) -> (bus: String, owner: String) {
    if let connection, !connection.isClosed {
      do throws(BusFailure) {
        return (busIdentifier, try owner(connection))
      } catch  where error.kind == .closed {
        // The bus has ended since the last notification; another one may be running.
      } catch {
        throw report(error)
      }
    }
    connection = nil
    let address = try address()
    do throws(BusFailure) {
      let made = try BusConnection(address: address, timeout: timeout)
      busIdentifier = try made.busIdentifier()
      connection = made
      return (busIdentifier, try owner(made))
    } catch  where error.kind == .noLibrary {
      throw report(error)
    } catch  where connection == nil {
      let reason = error.kind == .timedOut ? "no reply within \(patience)" : error.text
      throw ChannelError("The session bus at '\(address)' cannot be reached: \(reason).", isTemporary: true)
    } catch {
      throw report(error)
    }
  }

  private func address() throws(ChannelError) -> String {
    do {
      return try SessionBus.address(environment: environment)
    } catch {
      switch error {
      case .notNamed: throw ChannelError("There is no desktop session: \(error.reason).", isTemporary: false)
      case .noSocket: throw ChannelError("There is no session bus: \(error.reason).", isTemporary: true)
      case .startsSomething(let address):
        throw ChannelError("The bus address '\(address)' does not name a running bus.", isTemporary: false)
      }
    }
  }

  /// Returns the unique name of the notification server, which is started if the bus can activate it.
  private func owner(_ connection: BusConnection) throws(BusFailure) -> String {
    if let owner = try connection.owner(of: Self.service) { return owner }
    try connection.start(Self.service)
    guard let owner = try connection.owner(of: Self.service) else { throw BusFailure(.noOwner, "") }
    return owner
  }

  private func call(_ method: String, reply: String, of server: Server) throws(ChannelError) -> BusValue {
    guard let connection else { throw report(BusFailure(.closed, "")) }
    do throws(BusFailure) {
      return try connection.call(BusMethod(Self.service, method, reply: reply), of: server.owner, at: Self.path)
    } catch {
      throw report(error)
    }
  }

  /// The deadline as display text, such as "5 s".
  private var patience: String {
    let (seconds, attoseconds) = timeout.components
    return String(format: "%g s", Double(seconds) + Double(attoseconds) / 1e18)
  }

  /// Converts a failure to an error; drops the connection if it was closed.
  private func report(_ failure: BusFailure) -> ChannelError {
    if failure.kind == .closed { connection = nil }
    let reason =
      switch failure.kind {
      case .timedOut: "The notification server did not reply within \(patience)."
      case .closed: "The connection to the session bus was closed."
      case .gone: "The notification server exited before it replied."
      case .noOwner: "No notification server is running on the session bus, and none can be started."
      case .noLibrary: "Desktop notifications cannot be shown: \(failure.text). Install it and start the program again."
      case .unreachable, .noObject, .denied, .invalid, .other: "The notification server failed: \(failure.text)."
      }
    return ChannelError(reason, isTemporary: failure.kind != .noLibrary)
  }
}
