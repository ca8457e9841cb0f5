import CofferCGio
import CofferLocks
import CofferTestSupport
import Foundation

/// What a notification server was asked to show.
struct Notified: Sendable {
  var appName = ""
  var replacedId: UInt32 = 0
  var summary = ""
  var body = ""
  /// "name=value", with the value as GLib prints it.
  var hints: [String] = []
  var timeout: Int32 = 0
}

/// A notification server inside this process, with a connection of its own to a private bus.
// The pointer never changes, GDBus connections may be used from any thread, and the rest is under a lock.
final class StubServer: @unchecked Sendable {
  enum Behaviour: Sendable {
    case shows
    /// Takes calls and never answers.
    case hangs
    case refuses
    /// Leaves the bus instead of an answer.
    case vanishes
    /// Shows at once and answers when it is released.
    case holds
  }

  private struct State {
    var behaviour: Behaviour
    var shown: [Notified] = []
    var nextId: UInt32 = 1
    var questions = 0
    var held: [HeldReply] = []
  }

  // A reply is used once, by whoever has taken it out of the state.
  private struct HeldReply: @unchecked Sendable {
    var message: OpaquePointer
  }

  private let connection: OpaquePointer
  private let capabilities: [String]
  private let state: Locked<State>

  /// Takes the name of the notification server.
  static func start(
    on bus: PrivateBus, capabilities: [String] = ["body", "body-markup"], _ behaviour: Behaviour = .shows,
    firstId: UInt32 = 1
  ) async throws -> StubServer {
    try await onThread { try StubServer(bus.address, capabilities, behaviour, firstId) }
  }

  private init(_ address: String, _ capabilities: [String], _ behaviour: Behaviour, _ firstId: UInt32) throws {
    let flags = GDBusConnectionFlags(
      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
        | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
    guard let made = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, nil) else {
      throw TestFailure("the stub cannot connect")
    }
    g_dbus_connection_set_exit_on_close(made, 0)
    connection = made
    self.capabilities = capabilities
    state = Locked(State(behaviour: behaviour, nextId: firstId))
    // Filters run on GDBus's own thread, so no main loop is needed.
    g_dbus_connection_add_filter(made, stubFilter, Unmanaged.passUnretained(self).toOpaque(), nil)
    let name: [OpaquePointer?] = [g_variant_new_string("org.freedesktop.Notifications"), g_variant_new_uint32(4)]
    let bus = "org.freedesktop.DBus"
    let reply = g_dbus_connection_call_sync(
      made, bus, "/org/freedesktop/DBus", bus, "RequestName", g_variant_new_tuple(name, 2), nil,
      G_DBUS_CALL_FLAGS_NONE, 10_000, nil, nil)
    guard let reply else { throw TestFailure("the stub gets no name") }
    g_variant_unref(reply)
  }

  /// Leaves the bus. To be called before the end of a test: the filter does not hold this object.
  func stop() async throws {
    _ = try await onThread { g_dbus_connection_close_sync(self.connection, nil, nil) }
  }

  var shown: [Notified] { state.withLock { $0.shown } }
  /// How often it was asked what it can.
  var questions: Int { state.withLock { $0.questions } }
  func behave(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

  /// Answers what it has held back, and from now on at once.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.behaviour = .shows
      return state.held
    }
    for reply in held { send(reply.message) }
  }

  /// Answers a call; on GDBus's thread.
  fileprivate func answer(_ message: OpaquePointer) {
    let member = g_dbus_message_get_member(message).map { String(cString: $0) } ?? ""
    switch state.withLock({ $0.behaviour }) {
    case .hangs: return
    case .vanishes: return g_dbus_connection_close(connection, nil, nil, nil)
    case .refuses where member == "Notify":
      let name = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"
      return send(g_dbus_message_new_method_error_literal(message, name, "Created too many similar notifications"))
    case .refuses, .shows, .holds: break
    }
    let reply = g_dbus_message_new_method_reply(message)
    g_dbus_message_set_body(reply, result(of: member, g_dbus_message_get_body(message)))
    if state.withLock({ $0.behaviour }) == .holds, member == "Notify", let reply {
      return state.withLock { $0.held.append(HeldReply(message: reply)) }
    }
    send(reply)
  }

  private func send(_ reply: OpaquePointer?) {
    guard let reply else { return }
    g_dbus_connection_send_message(connection, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
    g_object_unref(UnsafeMutableRawPointer(reply))
  }

  private func result(of member: String, _ arguments: OpaquePointer?) -> OpaquePointer {
    switch member {
    case "GetCapabilities":
      state.withLock { $0.questions += 1 }
      let texts: [OpaquePointer?] = capabilities.map { g_variant_new_string($0) }
      let type: OpaquePointer = g_variant_type_new("s")
      defer { g_variant_type_free(type) }
      return tuple([g_variant_new_array(type, texts, gsize(texts.count))])
    case "GetServerInformation":
      let texts = ["stub", "tests", "1.2", "1.2"]
      return tuple(texts.map { g_variant_new_string($0) })
    case "Notify":
      guard let arguments else { return tuple([]) }
      let notified = Notified(arguments)
      let id = state.withLock { state in
        state.shown.append(notified)
        if notified.replacedId != 0 { return notified.replacedId }
        defer { state.nextId += 1 }
        return state.nextId
      }
      return tuple([g_variant_new_uint32(id)])
    default:
      return tuple([])
    }
  }

  private func tuple(_ members: [OpaquePointer?]) -> OpaquePointer {
    g_variant_new_tuple(members, gsize(members.count))
  }
}

extension Notified {
  fileprivate init(_ arguments: OpaquePointer) {
    func child(_ index: gsize) -> OpaquePointer { g_variant_get_child_value(arguments, index) }
    func text(_ index: gsize) -> String { String(cString: g_variant_get_string(child(index), nil)) }
    appName = text(0)
    replacedId = g_variant_get_uint32(child(1))
    summary = text(3)
    body = text(4)
    let hints = child(6)
    self.hints = (0..<g_variant_n_children(hints)).map { index in
      let entry: OpaquePointer = g_variant_get_child_value(hints, index)
      let name: OpaquePointer = g_variant_get_child_value(entry, 0)
      let value: OpaquePointer = g_variant_get_variant(g_variant_get_child_value(entry, 1))
      let printed: UnsafeMutablePointer<CChar> = g_variant_print(value, 0)
      defer { g_free(printed) }
      return String(cString: g_variant_get_string(name, nil)) + "=" + String(cString: printed)
    }
    timeout = g_variant_get_int32(child(7))
  }
}

/// Takes the calls to the stub out of the stream of messages.
private nonisolated func stubFilter(
  connection: OpaquePointer?, message: OpaquePointer?, isIncoming: gboolean, stub: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  guard let message, let stub, isIncoming != 0,
    g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL,
    let interface = g_dbus_message_get_interface(message),
    String(cString: interface) == "org.freedesktop.Notifications"
  else { return message }
  Unmanaged<StubServer>.fromOpaque(stub).takeUnretainedValue().answer(message)
  g_object_unref(UnsafeMutableRawPointer(message))
  return nil
}
