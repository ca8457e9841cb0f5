import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify service`: installs, examines or removes the service of this user.
func manageService(_ invocation: Invocation) async throws -> ExitStatus {
  let words = ["install", "status", "remove"]
  guard let word = try invocation.text(at: 0), words.contains(word) || ["unit", "socket"].contains(word)
  else {
    throw Command.mistake("'service' takes one of \(words.joined(separator: ", ")).", .service)
  }
  let files = UnitFiles.ofUser()
  let manager = ServiceManager()
  switch word {
  case "install": return try await install(invocation, files, manager)
  case "unit":
    // For packages: the unit for any user, whose data is where it is by default.
    let output = Output.standard
    try output.write(ServiceUnit.service(program: "/usr/bin/watchify", data: nil).packagedText)
    try output.flush()
    return .ok
  case "socket":
    let output = Output.standard
    try output.write(ServiceUnit.socket().packagedText)
    try output.flush()
    return .ok
  case "remove": return try await remove(invocation, files, manager)
  default:
    let condition = await ServiceCondition.examine(files, manager)
    if invocation.has(.json) {
      try print(condition.json)
    } else {
      try printText(([condition.sentence] + condition.advice).joined(separator: "\n"))
    }
    return condition.status
  }
}

private func install(_ invocation: Invocation, _ files: UnitFiles, _ manager: ServiceManager?) async throws
  -> ExitStatus
{
  guard let manager else {
    throw CommandError(
      .failure, "noServiceManager", "This system has no systemd, so no service was installed.",
      advice: "Start 'watchify serve' in another way, or run 'watchify sync' by cron.")
  }
  guard let program = ServiceProgram.running() else {
    throw CommandError(.failure, "noProgram", "The path of this program is unknown, so no service was installed.")
  }
  let data = try dataFile(invocation).standardizedFileURL
  for path in [program.path, data.path] where path.unicodeScalars.contains(where: { $0.value < 0x20 }) {
    throw CommandError(.failure, "invalidPath", "A unit cannot name '\(path.oneLine(limit: 200))'.")
  }
  let responds = await manager.responds()
  try await checkNotWatched(data, manager)
  // The service may write to this folder only, so it must exist.
  try FileManager.default.createDirectory(
    at: data.deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  let isForced = invocation.has(.force)
  for name in UnitFiles.Name.allCases { try files.check(name, isForced, action: "replaced", command: "install") }
  var unit = ServiceUnit.service(program: program.path, data: data.path)
  try files.install(unit, as: .service, isForced: isForced)
  try files.install(.socket(), as: .socket, isForced: isForced)
  var lines = [
    "Installed \(short(files.path(.service))): it runs \(short(program.path)) on \(short(data.path))."
  ]
  if responds {
    var failure = await start(files, manager)
    if failure != nil, await manager.state(of: UnitFiles.Name.service.rawValue)?.lacksNamespaces == true {
      unit = .service(program: program.path, data: data.path, isolation: .withoutNamespaces)
      try files.install(unit, as: .service, isForced: isForced)
      failure = await start(files, manager)
      lines.append("This system forbids user namespaces, so the service runs without restrictions on mounts.")
    }
    if let failure { throw notStarted(failure) }
    lines.insert("It is running, and starts at each login.", at: 1)
    lines.insert("Its page: http://127.0.0.1:\(ServiceUnit.port)", at: 2)
  } else {
    lines.append("It starts at the next login: the service manager of this user does not respond now.")
  }
  lines += await linger(invocation)
  if let objection = program.objection { lines.append("Warning: \(objection)") }
  if invocation.has(.json) {
    try print(
      .object([
        ("unit", .text(files.path(.service))), ("program", .text(program.path)), ("database", .text(data.path)),
        ("isRunning", .flag(responds)), ("lingers", .flag(ServiceManager.lingers)),
        ("messages", .list(lines.map(JSON.text))),
      ]))
  } else {
    try printText(lines.joined(separator: "\n"))
  }
  return .ok
}

/// Returns a path for display, with `~` for the home directory.
private func short(_ path: String) -> String {
  let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
  return home.count > 1 && path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
}

/// Throws if a watch runs that is not the service: only one can run on a database.
private func checkNotWatched(_ data: URL, _ manager: ServiceManager) async throws {
  guard WatchMark.look(beside: data).isWatched else { return }
  let state = await manager.state(of: UnitFiles.Name.service.rawValue)
  guard state?.process == nil else { return }
  throw CommandError(
    .failure, "isWatched", "Another process watches the stores of this database, so no service was installed.",
    advice: "End that 'watchify watch' or 'watchify serve', then install the service.")
}

/// Starts the installed units, and returns the reason if that fails.
private func start(_ files: UnitFiles, _ manager: ServiceManager) async -> String? {
  if let failure = await manager.failure(of: "daemon-reload") { return failure }
  // The socket first, since the service takes it over.
  for name in UnitFiles.Name.allCases.reversed() where files.origin(name) != nil {
    if let failure = await manager.failure(of: "restart", name.rawValue) { return failure }
  }
  return nil
}

private func notStarted(_ failure: String) -> CommandError {
  CommandError(
    .failure, "notStarted", "The service was installed but did not start: \(failure)",
    advice: "See 'systemctl --user status watchify.socket watchify', then 'systemctl --user restart watchify'.")
}

/// Returns what is to say about the time in which the service runs.
private func linger(_ invocation: Invocation) async -> [String] {
  guard invocation.has(.linger) else { return ServiceManager.lingers ? [] : [lingerAdvice] }
  guard let failure = await ServiceManager.enableLinger() else {
    return ["It also runs while you are not logged in, from the start of the system."]
  }
  return ["'loginctl enable-linger' failed, so it runs only while you are logged in: \(failure)"]
}

private func remove(_ invocation: Invocation, _ files: UnitFiles, _ manager: ServiceManager?) async throws -> ExitStatus
{
  let isForced = invocation.has(.force)
  for name in UnitFiles.Name.allCases { try files.check(name, isForced, action: "removed", command: "remove") }
  let installed = UnitFiles.Name.allCases.filter { files.origin($0) != nil || files.isEnabled($0) }
  guard !installed.isEmpty else {
    throw CommandError(.notFound, "notInstalled", "Watchify is not installed as a service of this user.")
  }
  let responds = await manager?.responds() ?? false
  // The socket first, since it would start the service again.
  if responds { for name in installed.reversed() { _ = await manager?.failure(of: "stop", name.rawValue) } }
  for name in installed { _ = try files.remove(name) }
  if responds {
    for name in installed { _ = await manager?.failure(of: "reset-failed", name.rawValue) }
    _ = await manager?.failure(of: "daemon-reload")
  }
  var lines = ["Removed \(installed.map(\.rawValue).joined(separator: " and ")). Stored data is kept."]
  if !responds { lines.append("If it still runs, it ends when you log out.") }
  let additions = files.additions()
  if !additions.isEmpty { lines.append("Your additions are kept: \(additions.joined(separator: ", ")).") }
  if invocation.has(.json) {
    try print(
      .object([
        ("removed", .list(installed.map { .text($0.rawValue) })), ("messages", .list(lines.map(JSON.text))),
      ]))
  } else {
    try printText(lines.joined(separator: "\n"))
  }
  return .ok
}
