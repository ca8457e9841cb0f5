import CofferBus
import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(
  .blocking, .serialized, .enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
struct BusTests {
  private static let name = "com.example.Echo"
  private let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  private func connect(timeout: Duration = .seconds(10)) throws -> BusConnection {
    try BusConnection(address: bus.address, timeout: timeout)
  }

  private func serve(_ handler: @escaping @Sendable (BusCall) -> Void) throws -> BusService {
    try BusService(Self.name, address: bus.address, timeout: .seconds(10), handler)
  }

  private func method(_ name: String, reply: String, changes: Bool = false) -> BusMethod {
    BusMethod(Self.name, name, reply: reply, changesSomething: changes)
  }

  private func failure(_ body: () throws -> some Any) -> BusFailure? {
    do {
      _ = try body()
      return nil
    } catch { return error as? BusFailure }
  }

  @Test func everyKindOfValueGoesThereAndBack() throws {
    let service = try serve { try? $0.reply($0.arguments) }
    defer { service.close() }
    let values: [BusValue] = [
      .bool(true), .byte(255), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max), .int64(.min), .uint64(.max),
      .double(0.1), .string("é\u{301} \u{1F600}"), .string(""), .objectPath("/"), .objectPath("/a/b_1"),
      .signature("a{sv}i"), .signature(""), .bytes(Data()), .bytes(Data([0, 1, 255])), .strings([]),
      .strings(["a", "b"]), .objectPaths(["/a"]), .array(of: "ay", [.bytes(Data([7])), .bytes(Data())]),
      .array(of: "{sa{uv}}", [.entry(.string("k"), .array(of: "{uv}", [.entry(.uint32(1), .variant(.byte(2)))]))]),
      .structure([.int32(1), .structure([.string("in")])]), .variant(.variant(.structure([.double(-0.0)]))),
      .properties([("a", .bool(false)), ("b", .strings(["c"]))]),
    ]
    let connection = try connect()
    for value in values {
      let reply = try connection.call(method("Echo", reply: "(\(value.signature))"), of: Self.name, at: "/", [value])
      #expect(reply == .structure([value]))
    }
    let all = method("Echo", reply: "(" + values.map(\.signature).joined() + ")")
    #expect(try connection.call(all, of: Self.name, at: "/", values) == .structure(values))
    #expect(try connection.call(method("Echo", reply: "()"), of: Self.name, at: "/") == .structure([]))
  }

  @Test(
    arguments: [
      .string("a\0b"), .objectPath("a"), .objectPath("/a/"), .signature("a"), .array(of: "s", [.byte(1)]),
      .array(of: "m", []), .array(of: "ss", []), .array(of: "", []), .array(of: "{vs}", []),
      .entry(.string("k"), .byte(1)), .variant(.string("\0")), .structure([.objectPath("")]),
      .array(of: "{so}", [.entry(.string("k"), .objectPath("x"))]),
    ] as [BusValue])
  func whatDBusCannotCarryIsRefused(_ value: BusValue) throws {
    let connection = try connect()
    let refused = failure {
      try connection.call(method("Echo", reply: "()"), of: Self.name, at: "/", [value])
    }
    #expect(refused?.kind == .invalid, "\(value)")
    #expect(refused?.mayHaveHappened == false)
  }

  @Test func namesThatAreNoneAreRefused() throws {
    let connection = try connect()
    let echo = method("Echo", reply: "()")
    let calls: [(BusMethod, String, String)] = [
      (echo, "no name", "/"), (echo, "", "/"), (echo, Self.name, "no path"), (echo, Self.name + "\0x", "/"),
      (BusMethod("Echo", "Echo", reply: "()"), Self.name, "/"), (method("a.b", reply: "()"), Self.name, "/"),
      (method("Echo", reply: "s"), Self.name, "/"), (method("Echo", reply: "(s"), Self.name, "/"),
    ]
    for (method, name, path) in calls {
      #expect(
        failure { try connection.call(method, of: name, at: path) }?.kind == .invalid, "\(method) \(name) \(path)")
    }
  }

  @Test func whatTheCalledProcessAnswersIsTold() throws {
    let service = try serve { call in
      switch call.member {
      case "Fail": try? call.fail("com.example.Error.Closed", "We are closed.")
      case "Number": try? call.reply([.uint32(1)])
      case "Both":
        try? call.reply([.byte(1)])
        try? call.reply([.byte(2)])
        try? call.fail("com.example.Error.Late", "")
      default: try? call.fail("org.freedesktop.DBus.Error.UnknownMethod", call.path + call.interface)
      }
    }
    defer { service.close() }
    let connection = try connect()
    let closed = failure { try connection.call(method("Fail", reply: "()"), of: Self.name, at: "/") }
    #expect(closed?.kind == .other && closed?.name == "com.example.Error.Closed")
    #expect(closed?.text == "We are closed." && closed?.description == "com.example.Error.Closed: We are closed.")
    // The type of the reply differs from the declared one.
    #expect(failure { try connection.call(method("Number", reply: "(s)"), of: Self.name, at: "/") }?.kind != nil)
    #expect(try connection.call(method("Both", reply: "(y)"), of: Self.name, at: "/") == .structure([.byte(1)]))
    let unknown = failure { try connection.call(method("Nothing", reply: "()"), of: Self.name, at: "/there") }
    #expect(unknown?.kind == .noObject && unknown?.text == "/there" + Self.name)
  }

  @Test func namesHaveOwnersOrNone() throws {
    let connection = try connect()
    #expect(try connection.owner(of: Self.name) == nil)
    #expect(failure { try connection.call(method("Echo", reply: "()"), of: Self.name, at: "/") }?.kind == .noOwner)
    #expect(failure { try connection.start(Self.name) }?.kind == .noOwner)
    #expect(try connection.activatableNames().contains(Self.name) == false)
    let service = try serve { _ in }
    let owner = try #require(try connection.owner(of: Self.name))
    #expect(owner.hasPrefix(":"))
    #expect(failure { try serve { _ in } }?.kind == .denied)
    service.close()
    // The bus notices the end of a connection by itself.
    try blockUntil("the name is free") { try connection.owner(of: Self.name) == nil }
    let gone = failure { try connection.call(method("Echo", reply: "()"), of: owner, at: "/") }
    #expect(gone?.kind == .noOwner)
  }

  @Test func aLostAnswerLeavesOpenWhetherItHappened() throws {
    let service = try serve { [bus] call in
      if call.member == "Kill" { try? bus.end() }
    }
    let connection = try connect(timeout: .milliseconds(200))
    for changes in [false, true] {
      let lost = failure { try connection.call(method("Wait", reply: "()", changes: changes), of: Self.name, at: "/") }
      #expect(lost?.kind == .timedOut && lost?.mayHaveHappened == changes, "\(String(describing: lost))")
    }
    let patient = try connect()
    #expect(patient.isClosed == false)
    let gone = failure { try patient.call(method("Kill", reply: "()", changes: true), of: Self.name, at: "/") }
    #expect(gone?.kind == .closed && gone?.mayHaveHappened == true, "\(String(describing: gone))")
    #expect(patient.isClosed)
    #expect(failure { try patient.busIdentifier() }?.kind == .closed)
    #expect(failure { try connect() }?.kind == .unreachable)
    withExtendedLifetime(service) {}
  }

  @Test func anAnswerAfterTheTimeoutIsNotLost() throws {
    let held = Locked<[BusCall]>([])
    let service = try serve { call in
      if call.member == "Hold" { held.withLock { $0.append(call) } } else { try? call.reply([.uint32(7)]) }
    }
    defer { service.close() }
    let connection = try connect(timeout: .seconds(2))
    let (arrived, late) = (DispatchSemaphore(value: 0), Locked<[BusValue?]>([]))
    let take: @Sendable (BusValue?) -> Void = { value in
      late.withLock { $0.append(value) }
      arrived.signal()
    }
    let soon = try connection.call(method("Now", reply: "(u)"), of: Self.name, at: "/", late: take)
    #expect(soon == .structure([.uint32(7)]))
    let failed = failure { try connection.call(method("Hold", reply: "(u)"), of: Self.name, at: "/", late: take) }
    #expect(failed?.kind == .timedOut)
    #expect(late.withLock { $0.isEmpty })
    try held.withLock { $0 }.first?.reply([.uint32(9)])
    #expect(arrived.wait(timeout: .now() + .seconds(10)) == .success)
    #expect(late.withLock { $0 } == [.structure([.uint32(9)])])
  }

  @Test(arguments: ["unix:path=/nowhere/bus", "nonsense", "tcp:host=127.0.0.1,port=1", "unix:path=/a\0b"])
  func nobodyListensThere(_ address: String) {
    #expect(failure { try BusConnection(address: address, timeout: .seconds(10)) }?.kind == .unreachable)
  }

  @Test func connectionsCloseWithTheirLastReference() throws {
    let observer = try connect()
    let names = BusMethod("org.freedesktop.DBus", "ListNames", reply: "(as)")
    let count = { try observer.call(names)[0]?.texts.count ?? 0 }
    let before = try count()
    for _ in 0..<10 { _ = try connect().busIdentifier() }
    try serve { _ in }.close()
    try blockUntil("the connections are closed") { try count() == before }
  }
}
