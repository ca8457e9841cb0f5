import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify doctor`: reports problems that keep Watchify from working.
func examine(_ invocation: Invocation) async throws -> ExitStatus {
  let file = try dataFile(invocation)
  var findings: [Finding] = FileChecks(file: file).all()
  if FileManager.default.fileExists(atPath: file.path), !findings.contains(where: { $0.verdict == .problem }) {
    do {
      findings += try await withSession(invocation) { await SessionChecks(session: $0).all() }
    } catch {
      let error = explain(error) ?? CommandError(error)
      findings.append(
        .problem("database", error.message, fix: error.advice.isEmpty ? "Move it away or use another." : error.advice))
    }
  } else {
    findings.append(SessionChecks.desktop(await DesktopChannel().availability(), isWanted: true))
    findings.append(await SessionChecks.network(isNeeded: true))
  }
  let problems = findings.count { $0.verdict == .problem }
  let warnings = findings.count { $0.verdict == .warning }
  if invocation.has(.json) {
    try print(
      .object([
        ("problems", .number(problems)), ("warnings", .number(warnings)), ("findings", .list(findings.map(\.json))),
      ]))
  } else {
    let output = Output.standard
    let width = min(findings.map(\.subject.count).max() ?? 0, 24)
    for finding in findings { try output.write(finding.text(output.style, width: width, columns: output.columns)) }
    let counts = [(problems, "problem"), (warnings, "warning")].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }
    try output.writeLine(counts.isEmpty ? "Everything works." : counts.joined(separator: ", ") + ".")
    try output.flush()
  }
  return problems == 0 ? .ok : .failure
}

/// The checks of the database file that do not open it.
struct FileChecks {
  let file: URL

  func all() -> [Finding] {
    guard let mode = mode(file.path) else {
      return [.ok("database", "\(file.path) does not exist yet; it is created when needed.")]
    }
    var findings: [Finding] = []
    if access(file.path, R_OK | W_OK) != 0 {
      findings.append(
        .problem(
          "database", "\(file.path) cannot be read and written by this user.", fix: "As its owner: chmod 600 FILE"))
    }
    if mode & 0o077 != 0 {
      findings.append(
        .warning("permissions", "Other users can read the database.", fix: "chmod 600 '\(file.path)'"))
    }
    let folder = file.deletingLastPathComponent().path
    if access(folder, W_OK) != 0 {
      findings.append(
        .problem("folder", "Nothing can be written beside the database, in \(folder).", fix: "chmod u+rwx '\(folder)'"))
    }
    return findings
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : nil
  }
}
