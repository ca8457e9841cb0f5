import CofferTerminal
import Foundation

/// Whether Watchify runs as a service of this user, for `watchify service status`.
struct ServiceCondition {
  /// The condition in one word, for scripts.
  enum State: String {
    case running, starting, stopped, failed, notInstalled, unknown
  }

  let state: State
  /// The condition in one sentence.
  let sentence: String
  /// What should be done, as sentences.
  let advice: [String]
  private let unit: UnitState?
  private let files: UnitFiles

  /// Examines the files and asks the manager.
  static func examine(_ files: UnitFiles, _ manager: ServiceManager?) async -> ServiceCondition {
    ServiceCondition(files: files, manager, unit: await manager?.state(of: UnitFiles.Name.service.rawValue))
  }

  init(files: UnitFiles, _ manager: ServiceManager?, unit: UnitState?) {
    self.files = files
    self.unit = unit
    let isLoaded = unit.map { $0[.load] == "loaded" } ?? false
    let isWritten = files.origin(.service) != nil
    var advice: [String] = []
    if files.origin(.service) == .edited { advice.append("The unit was edited: the next install needs --force.") }
    if unit?[.reload] == "yes" {
      advice.append("The unit has changed since it was loaded: systemctl --user daemon-reload")
    }
    let log = "journalctl --user --unit watchify --lines 20"
    switch unit?[.active] {
    case _ where manager == nil:
      (state, sentence) = (.unknown, "This system has no systemd: start 'watchify serve' in another way.")
    case nil where isWritten:
      state = .unknown
      sentence = "Installed, but the service manager of this user does not respond: it runs after the next login."
    case _ where !isWritten && !isLoaded:
      (state, sentence) = (.notInstalled, "Watchify is not installed as a service.")
      advice.append("To install it: watchify service install")
    case "active":
      state = .running
      let text = unit?[.status] ?? ""
      sentence = "Watchify is running as a service\(text.isEmpty ? "" : ": \(text.oneLine(limit: 120))")."
      if let process = unit?.process, ServiceProgram.isReplaced(inProcess: process) {
        advice.append("The program was replaced since then: systemctl --user restart watchify")
      }
      if !ServiceManager.lingers { advice.append(lingerAdvice) }
    case "activating", "reloading":
      (state, sentence) = (.starting, "Watchify is starting as a service.")
    case "failed":
      state = .failed
      sentence = "The service has failed (\(unit?[.result] ?? "unknown"))."
      advice.append("See '\(log)', then 'systemctl --user restart watchify'.")
    default:
      (state, sentence) = (.stopped, "Watchify is installed as a service but does not run.")
      advice.append("systemctl --user start watchify")
    }
    if state != .notInstalled, manager != nil, isWritten, !files.isEnabled(.service) {
      advice.append("It is not started at login: systemctl --user enable watchify")
    }
    self.advice = advice
  }

  /// The exit status of `watchify service status`.
  var status: ExitStatus {
    switch state {
    case .running, .starting: .ok
    case .notInstalled: .notFound
    case .stopped, .failed, .unknown: .failure
    }
  }

  var json: JSON {
    .object([
      ("state", .text(state.rawValue)), ("message", .text(sentence)), ("advice", .list(advice.map(JSON.text))),
      ("isEnabled", .flag(files.isEnabled(.service))), ("isEdited", .flag(files.origin(.service) == .edited)),
      ("lingers", .flag(ServiceManager.lingers)),
      ("unit", (unit.map { $0[.file] }).flatMap { $0.isEmpty ? nil : .text($0) } ?? .none),
      ("process", unit?.process.map { .number(Int($0)) } ?? .none),
      ("result", (unit.map { $0[.result] }).flatMap { $0.isEmpty ? nil : .text($0) } ?? .none),
    ])
  }
}

/// The advice for a service that ends when the user logs out.
let lingerAdvice = "It runs while you are logged in; for always: watchify service install --linger"
