import CofferTerminal
import Foundation

/// The service manager of this user, spoken to through `systemctl --user` and `loginctl`.
struct ServiceManager: Sendable {
  private let systemctl: SystemTool

  /// `nil` if the system has no systemd.
  init?() {
    guard let systemctl = SystemTool("systemctl") else { return nil }
    self.systemctl = systemctl
  }

  /// Returns whether the manager of this user runs and responds. It runs while the user is logged in, and always after
  /// `loginctl enable-linger`.
  func responds() async -> Bool {
    (try? await systemctl.run(["--user", "show", "--property=Version"], within: 20))?.isSuccess ?? false
  }

  /// Performs `systemctl --user` with arguments, and returns the reason if that fails.
  func failure(of arguments: String...) async -> String? {
    do {
      let outcome = try await systemctl.run(["--user"] + arguments, within: 1_200)
      return outcome.isSuccess ? nil : outcome.reason
    } catch { return error.localizedDescription.oneLine(limit: 200) }
  }

  /// Returns the state of a unit; `nil` if the manager does not respond.
  func state(of unit: String) async -> UnitState? {
    let names = UnitState.Property.allCases.map(\.rawValue).joined(separator: ",")
    let outcome = try? await systemctl.run(["--user", "show", unit, "--property=\(names)"], within: 20)
    guard let outcome, outcome.isSuccess else { return nil }
    return UnitState(outcome.output)
  }

  /// Returns whether the services of this user run while nobody is logged in.
  static var lingers: Bool {
    FileManager.default.fileExists(atPath: "/var/lib/systemd/linger/\(NSUserName())")
  }

  /// Lets the services of this user run from the start of the system on; returns the reason if that fails.
  static func enableLinger() async -> String? {
    guard let loginctl = SystemTool("loginctl") else { return "There is no 'loginctl'." }
    do {
      let outcome = try await loginctl.run(["enable-linger"], within: 60)
      return outcome.isSuccess ? nil : outcome.reason
    } catch { return error.localizedDescription.oneLine(limit: 200) }
  }
}

/// The state of a unit, as `systemctl show` prints it.
struct UnitState: Sendable, Equatable {
  /// The properties that are requested.
  enum Property: String, CaseIterable {
    case load = "LoadState"
    case active = "ActiveState"
    case sub = "SubState"
    case result = "Result"
    case exitStatus = "ExecMainStatus"
    case process = "MainPID"
    case status = "StatusText"
    case file = "FragmentPath"
    case enabled = "UnitFileState"
    case since = "ActiveEnterTimestamp"
    case reload = "NeedDaemonReload"
  }

  private var values: [Property: String] = [:]

  /// Parses lines such as `ActiveState=active`. Unknown lines are ignored.
  init(_ text: String) {
    for line in text.split(separator: "\n") {
      guard let end = line.firstIndex(of: "="), let property = Property(rawValue: String(line[..<end])) else {
        continue
      }
      values[property] = String(line[line.index(after: end)...])
    }
  }

  subscript(property: Property) -> String { values[property] ?? "" }

  /// Whether the last start failed because mounts cannot be restricted: `EXIT_NAMESPACE` of systemd.exec(5).
  var lacksNamespaces: Bool { self[.exitStatus] == "226" }

  /// The identifier of the running process; `nil` if there is none.
  var process: Int32? { Int32(self[.process]).flatMap { $0 > 0 ? $0 : nil } }
}
