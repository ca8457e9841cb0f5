/// The programs of every Debian (packages that are essential or required) and those that Swift's installation page
/// asks for, and our own. All others are in the tables of packages of the script `run`.
private let presentPrograms: Set<String> = [
  "bash", "cat", "cc", "chmod", "chown", "cp", "dd", "dpkg-deb", "echo", "env", "false", "gcc", "git", "grep", "ln",
  "ls", "mkdir", "mount", "mv", "perl", "pkg-config", "rm", "script", "sed", "setpriv", "sh", "sleep", "sort", "swift",
  "taskset", "timeout", "touch", "true", "umount", "unshare", "watchify",
]

/// The programs of packages in the tables that have another file there.
private let packagedPrograms = [
  "dbus-daemon": "dbus", "dbus-run-session": "dbus", "pg_autoctl": "pg-auto-failover", "pg_ctl": "postgresql-15",
  "initdb": "postgresql-15", "psql": "postgresql-15", "systemctl": "systemd", "Xvfb": "xvfb",
]

/// The packages that no task installs, since their tests are skipped with a reason without them.
private let optionalPackages: Set<String> = ["pg-auto-failover", "xvfb"]

/// Returns the packages of the tables in the script `run`, each with its file.
func packageTables(of run: SourceFile) -> [(package: String, file: String)] {
  run.lines.compactMap { line in
    line.wholeMatch(of: /([a-z0-9.+-]+) +((?:s?bin|lib|include)\/\S+)/).map { (String($0.1), String($0.2)) }
  }
}

/// Finds programs that a test starts and that no task of the script `run` installs: by their path, or by their name
/// as the first word of a list in a file that starts programs with `/usr/bin/env`.
func unknownPrograms(_ file: SourceFile, tables: [(package: String, file: String)]) -> [Finding] {
  let packages = optionalPackages.union(tables.map(\.package))
  let installed = tables.compactMap { $0.file.split(separator: "/").last.map(String.init) }
  let known = presentPrograms.union(installed)
  let startsByName = file.lines.contains { $0.contains("\"/usr/bin/env\"") }
  return file.lines.indices.flatMap { index -> [Finding] in
    let line = file.lines[index]
    guard line.hasAny(of: ["bin/", "[\""]), !line.hasAny(of: ["///"]) else { return [] }
    let paths = #/"/(?:usr/)?(?:local/)?s?bin/([A-Za-z0-9_.+-]+)"/#
    var names = line.matches(of: paths).map { String($0.1) }
    if startsByName {
      names += line.matches(of: #/(?:run\(|arguments = )\["([a-z][a-z0-9_.+-]*)", /#).map { String($0.1) }
    }
    return names.filter { !known.contains($0) && !(packagedPrograms[$0].map(packages.contains) ?? false) }
      .map { file.finding(index, "no table of packages in the script 'run' has the program '\($0)'") }
  }
}

/// Finds programs that a test starts while others may start: Foundation takes one for running until those that have
/// inherited its descriptors have ended.
func unguardedStarts(_ file: SourceFile) -> [Finding] {
  guard !file.code(with: "Process()").isEmpty, !file.path.hasSuffix("UnblockedProcess.swift") else { return [] }
  return file.findings("start it with 'runUnblocked()'", with: ".run()", "Process.run(") { _ in true }
}
