import CofferBus
import CofferCore
import CofferTesting
import Foundation
import WatchifyTestSupport

/// A notification received by a stub server.
struct Notified: Sendable {
  var appName = ""
  var replacedId: UInt32 = 0
  var summary = ""
  var body = ""
  /// The hints, each as "name=value".
  var hints: [String] = []
  var timeout: Int32 = 0
}

/// A notification server in this process, with a separate connection to a private bus.
final class StubServer: Sendable {
  enum Behaviour: Sendable {
    case shows
    /// Receives calls and never replies.
    case hangs
    case refuses
    /// Disconnects from the bus instead of replying.
    case vanishes
    /// Shows at once and replies after its release.
    case holds
  }

  private struct State {
    var behaviour: Behaviour
    var shown: [Notified] = []
    var nextId: UInt32 = 1
    var questions = 0
    var held: [(call: BusCall, reply: [BusValue])] = []
  }

  private let capabilities: [String]
  private let state: Locked<State>
  private let service = Locked<BusService?>(nil)

  /// Acquires the bus name of the notification server.
  static func start(
    on bus: PrivateBus, capabilities: [String] = ["body", "body-markup"], _ behaviour: Behaviour = .shows,
    firstId: UInt32 = 1
  ) async throws -> StubServer {
    try await onThread { try StubServer(bus.address, capabilities, behaviour, firstId) }
  }

  private init(_ address: String, _ capabilities: [String], _ behaviour: Behaviour, _ firstId: UInt32) throws {
    self.capabilities = capabilities
    state = Locked(State(behaviour: behaviour, nextId: firstId))
    let service = try BusService("org.freedesktop.Notifications", address: address, timeout: .seconds(10)) {
      [weak self] call in try? self?.answer(call)
    }
    self.service.withLock { $0 = service }
  }

  /// Disconnects from the bus.
  func stop() async throws {
    _ = try await onThread { self.service.withLock { $0 }?.close() }
  }

  var shown: [Notified] { state.withLock { $0.shown } }
  /// The number of requests for its capabilities.
  var questions: Int { state.withLock { $0.questions } }
  func behave(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

  /// Sends the delayed replies, and from now on replies at once.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.behaviour = .shows
      return state.held
    }
    for held in held { try? held.call.reply(held.reply) }
  }

  /// Replies to a call, on GDBus's thread.
  private func answer(_ call: BusCall) throws {
    let behaviour = state.withLock { $0.behaviour }
    switch behaviour {
    case .hangs: return
    case .vanishes:
      let service = service.withLock { $0 }
      return Thread { service?.close() }.start()
    case .refuses where call.member == "Notify":
      let name = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"
      return try call.fail(name, "Created too many similar notifications")
    case .refuses, .shows, .holds: break
    }
    let reply = result(of: call)
    if behaviour == .holds, call.member == "Notify" {
      return state.withLock { $0.held.append((call, reply)) }
    }
    try call.reply(reply)
  }

  private func result(of call: BusCall) -> [BusValue] {
    switch call.member {
    case "GetCapabilities":
      state.withLock { $0.questions += 1 }
      return [.strings(capabilities)]
    case "GetServerInformation": return ["stub", "tests", "1.2", "1.2"].map { .string($0) }
    case "Notify":
      let notified = Notified(.structure(call.arguments))
      let id = state.withLock { state in
        state.shown.append(notified)
        if notified.replacedId != 0 { return notified.replacedId }
        defer { state.nextId += 1 }
        return state.nextId
      }
      return [.uint32(id)]
    default: return []
    }
  }
}

extension Notified {
  fileprivate init(_ arguments: BusValue) {
    appName = arguments[0]?.text ?? ""
    replacedId = arguments[1]?.uint32 ?? 0
    summary = arguments[3]?.text ?? ""
    body = arguments[4]?.text ?? ""
    hints = arguments[6]?.children.map { "\($0[0]?.text ?? "")=\($0[1]?.unboxed?.printed ?? "")" } ?? []
    timeout = arguments[7]?.int32 ?? 0
  }
}

extension BusValue {
  /// The value as printed by GLib.
  fileprivate var printed: String {
    switch self {
    case .byte(let number): String(format: "0x%02x", number)
    case .string(let text): "'\(text)'"
    case .bool(let value): "\(value)"
    default: "\(self)"
    }
  }
}
