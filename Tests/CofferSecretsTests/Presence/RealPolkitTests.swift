import CofferBus
import CofferCore
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The system's own polkitd on a private bus, with the actions that are installed here.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(5)),
  .enabled(if: RealPolkit.isInstalled, "polkitd is not installed, or this process is not of root"))
struct RealPolkitTests {
  @Test("Polkit accepts the subject; root is authorized, and an action that is not installed is unavailable")
  func check() async throws {
    let polkit = try await RealPolkit()
    let ask = { (action: String) in
      try await PolkitAuthenticator(action: action, address: polkit.bus.address).authenticate(
        for: .userPresence, reason: "Read the secret.", deadline: .now + .seconds(30))
    }
    #expect(try await ask(RealPolkit.action) == .confirmed)
    await expectStorageError(.unavailable, contains: "policy file") { _ = try await ask("com.example.none") }
  }
}

private final class RealPolkit: Sendable {
  private static let program = "/usr/lib/polkit-1/polkitd"
  /// An action of polkit itself.
  static let action = "org.freedesktop.policykit.exec"
  static let isInstalled =
    PrivateBus.isInstalled && geteuid() == 0 && FileManager.default.isExecutableFile(atPath: program)
    && FileManager.default.fileExists(atPath: "/usr/share/polkit-1/actions/org.freedesktop.policykit.policy")

  let bus: PrivateBus
  private let directory: TemporaryDirectory
  private let running: RunningProgram

  init() async throws {
    let bus = try PrivateBus(allowsAllUsers: true)
    self.bus = bus
    directory = try TemporaryDirectory()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = ["--no-debug"]
    process.environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "PATH": "/usr/bin:/bin"]
    running = try RunningProgram(process, in: directory.url, deadline: 60)
    let connection = try BusConnection(address: bus.address, timeout: .seconds(20))
    try await eventually("polkit runs") { try connection.owner(of: "org.freedesktop.PolicyKit1") != nil }
  }

  deinit { running.signal(SIGKILL) }
}
