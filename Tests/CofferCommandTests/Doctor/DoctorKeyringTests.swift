import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(
  "doctor and the keyring", .blocking, .serialized,
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct DoctorKeyringTests {
  let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    let folder = sandbox.url.appendingPathComponent("home")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  private static let start =
    "Start a keyring such as gnome-keyring, KeePassXC or KWallet, which offer org.freedesktop.secrets."

  private static let logIn = "Log in to a desktop session, or run the program with 'dbus-run-session'."

  /// A state of a keyring, and the finding that is expected.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var password: String? = "correct horse"
    var address: String?
    let message: String
    var fix = ""
    var wound: @Sendable (PrivateKeyring) throws -> Void = { _ in }
  }

  static let cases = [
    Case(testDescription: "open", message: "open"),
    Case(
      testDescription: "a bogus address", address: "unix:path=/nowhere/bus",
      message: "The keyring cannot be reached: no session bus answers at 'unix:path=/nowhere/bus'.", fix: logIn),
    Case(
      testDescription: "a bus that has ended",
      message: "The keyring cannot be reached: no session bus answers at 'BUS'.", fix: logIn,
      wound: { $0.stopBus() }),
    Case(
      testDescription: "no keyring is running", password: nil,
      message: "The keyring cannot be reached: no keyring is running, and none can be started on demand.", fix: start),
    Case(
      testDescription: "no default collection", password: "",
      message: "The keyring has no default collection, or has not loaded it yet.",
      fix: "Log in to the desktop, or create a default keyring in its keyring program (for GNOME: 'seahorse')."),
    Case(
      testDescription: "locked", message: "The login keyring is locked, so its contents cannot be read.",
      fix: "Unlock it: log in to the desktop, or use its keyring program (for GNOME: 'seahorse').",
      wound: { try $0.lock() }),
    Case(
      testDescription: "hung", message: "The keyring cannot be reached: it does not answer.",
      fix: "Try again in a moment. If the problem persists, log out and in, or restart the keyring's process.",
      wound: { $0.pause() }),
  ]

  @Test("The state of the keyring", arguments: cases)
  func state(_ state: Case) async throws {
    let keyring = try PrivateKeyring(password: state.password)
    defer { keyring.resume() }
    try state.wound(keyring)
    let fault = Fault(
      state.testDescription, of: ["keychain:shop"], state.fix.isEmpty ? "ok" : "problem", "keyring",
      state.message.replacing("BUS", with: keyring.address),
      fix: state.fix)
    var surroundings = keyring.environment.map { (name: $0.0, value: $0.1 as String?) }
    if let address = state.address { surroundings.append((name: "DBUS_SESSION_BUS_ADDRESS", value: address)) }
    try await fault.check(in: sandbox, with: surroundings)
  }

  @Test("A truncated keyring, and a second one, without a bus")
  func files() async throws {
    let keyring = try PrivateKeyring()
    let whole = keyring.dataDirectory.appendingPathComponent("keyrings/login.keyring")
    try FileManager.default.createDirectory(
      atPath: sandbox.path("home/keyrings"), withIntermediateDirectories: true)
    let bytes = try Data(contentsOf: whole)
    let surroundings = Sandbox.doctorsHome(sandbox.url.path) + [(name: "XDG_DATA_HOME", value: sandbox.path("home"))]
    let file = "ROOT/home/keyrings/login.keyring"
    let fix = "Keep a copy of it, log out, restore it from a backup, and log in again."
    for count in [0, 12, 20, bytes.count / 2, bytes.count - 1] {
      try sandbox.write(bytes.prefix(count), to: "home/keyrings/login.keyring")
      let fault = Fault(
        "truncated", of: ["keychain:shop"], "problem", "keyring file",
        "\(file) is damaged: it is not a complete keyring.", fix: fix)
      try await fault.check(in: sandbox, with: surroundings)
    }
    for name in ["login", "login_1"] { try sandbox.write(bytes, to: "home/keyrings/\(name).keyring") }
    let second = Fault(
      "a second login keyring", "warning", "keyring file",
      "There is a second login keyring, ROOT/home/keyrings/login_1.keyring: the first was unreadable at some time, "
        + "and its secrets are not found.",
      fix: "Look at both in the keyring program (for GNOME: 'seahorse'); restore login.keyring from a backup.")
    try await second.check(in: sandbox, with: surroundings)
    let none = Fault(
      "no bus", of: ["keychain:shop"], "problem", "keyring",
      "The keyring cannot be reached: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set.",
      fix: "Log in to a desktop session, or run the program with 'dbus-run-session'.")
    try await none.check(in: sandbox, with: surroundings)
  }
}
