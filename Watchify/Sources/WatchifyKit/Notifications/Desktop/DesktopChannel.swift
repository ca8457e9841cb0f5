import CofferBus
public import Foundation

/// Notifications on a Linux desktop: `org.freedesktop.Notifications` on the session's bus.
///
/// Calls wait on a queue of the channel's own, each for five seconds at most. The connection to the bus stays open
/// between notifications, because some desktops take a program's notifications away when its connection ends.
public actor DesktopChannel: NotificationChannel {
  /// "desktop"
  public nonisolated let name = "desktop"
  /// The queue of the channel's own.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = QueueExecutor(label: "watchify.desktop")
  private let environment: @Sendable (String) -> String?
  private let timeout: Duration
  private let isCriticalAllowed: Bool
  private let replacements: (any DesktopReplacements)?

  private var connection: BusConnection?
  /// Which run of which bus that is.
  private var busIdentifier = ""
  private var server: Server?
  /// What this process has shown, by the bytes of the thread's name.
  private var shown: [[UInt8]: DesktopReplacement] = [:]
  /// Threads whose last notification the server has not answered yet.
  private var unanswered: Set<[UInt8]> = []
  /// What a server has answered after its deadline: it is on the screen, though its delivery failed.
  private var late: [[UInt8]: (content: NotificationContent, at: ContinuousClock.Instant)] = [:]

  /// A process that answered as the notification server.
  private struct Server {
    /// Its unique name on the bus.
    let owner: String
    /// The bus and its name there.
    let identity: String
    let capabilities: [String]
  }

  private static let service = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  /// A channel to the desktop's notification server. Nothing is looked for until it is used.
  /// - Parameters:
  ///   - replacements: keeps what was shown over a restart; without it, over the life of the channel.
  ///   - criticalWhenTimeSensitive: sends `.timeSensitive` as critical, which most desktops show until it is dismissed.
  ///   - timeout: for each call.
  ///   - environment: variables that say where the bus is; the process's own by default.
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

  /// Asks the notification server for its name; one is started where the bus knows how.
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

  /// Shows a notification, in place of the last one of its thread while the same server runs.
  public func deliver(_ content: NotificationContent) async throws {
    let thread = Array(content.threadIdentifier.utf8)
    if let late = late.removeValue(forKey: thread), late.content == content, late.at.duration(to: .now) < .seconds(600)
    {
      return  // It was shown after all.
    }
    guard !unanswered.contains(thread) else {
      throw ChannelError(
        "The notification server has not answered the last notification of this store yet.", isTemporary: true)
    }
    let stored = try? await replacements?.replacement(forThread: content.threadIdentifier)
    let replacement = try show(content, stored: stored)
    // It was shown, which is what counts.
    try? await replacements?.remember(replacement, forThread: content.threadIdentifier)
  }

  /// Without a pause between asking what to replace and noting what was shown: others may deliver meanwhile.
  private func show(_ content: NotificationContent, stored: DesktopReplacement?) throws(ChannelError)
    -> DesktopReplacement
  {
    let server = try currentServer()
    let thread = Array(content.threadIdentifier.utf8)
    // Servers count upwards: the greater number is the newer bubble, whichever process has shown it.
    let last = [shown[thread], stored].compactMap { $0 }.filter { $0.server == server.identity }.max { $0.id < $1.id }
    let message = DesktopMessage(
      content: content, capabilities: server.capabilities, replacedId: last?.id ?? 0,
      isCriticalAllowed: isCriticalAllowed)
    let id = try notify(message, content, server)
    let replacement = DesktopReplacement(id: id, server: server.identity)
    shown[thread] = replacement
    return replacement
  }

  /// Asks the server to show it. An answer that comes too late is heard as well.
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

  /// - Parameter id: the number that the server gave it; `nil` where no answer has come at all.
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

  /// Who has the server's name now, and what it can.
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
        // The bus has gone since the last notification; perhaps there is another by now.
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
      let reason = error.kind == .timedOut ? "no answer within \(patience)" : error.text
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
        throw ChannelError("The bus address '\(address)' names no bus that runs already.", isTemporary: false)
      }
    }
  }

  /// The process that is the notification server now; one is started where the bus knows how.
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

  /// The deadline, for people: "5 s".
  private var patience: String {
    let (seconds, attoseconds) = timeout.components
    return String(format: "%g s", Double(seconds) + Double(attoseconds) / 1e18)
  }

  /// Says what happened, and forgets what is no longer of use.
  private func report(_ failure: BusFailure) -> ChannelError {
    if failure.kind == .closed { connection = nil }
    let reason =
      switch failure.kind {
      case .timedOut: "The notification server did not answer within \(patience)."
      case .closed: "The session bus went away."
      case .gone: "The notification server went away before it answered."
      case .noOwner: "No notification server is running on the session bus, and none can be started."
      case .noLibrary: "Desktop notifications cannot be shown: \(failure.text). Install it and start the program again."
      case .unreachable, .noObject, .denied, .invalid, .other: "The notification server failed: \(failure.text)."
      }
    return ChannelError(reason, isTemporary: failure.kind != .noLibrary)
  }
}
