import Coffer
import Foundation

/// Runs all acts. Returns whether every check has passed.
func demonstrate(_ options: Options) async throws -> Bool {
  if options.wantsHelp {
    write(Options.help + "\n", to: STDOUT_FILENO)
    return true
  }
  let start = monotonicNanoseconds()
  let catalogue = try options.catalogue()
  let folder = try makeFolder(keep: options.keep)
  Cleanup.guardProcess(limit: 110)
  let console = Console(isQuiet: options.isJSON)
  let shelf = Shelf(folder.appendingPathComponent("products"))
  let stage = Stage(
    catalogue, path: folder.appendingPathComponent("shop.db").path, shelf: shelf,
    desktop: try makeDesktop(in: folder), console: console)
  console.line(console.styled("Coffer keeps what an app must not lose. Nineteen acts put that to the test.", .bold))
  console.line("Every \"ok\" below was measured just now, on this machine.")
  if isInMemory(folder) {
    console.line("Note: \(folder.path) is on a memory file system; on a disk, saves take longer.")
  }

  console.part("PART ONE: everything in one database file")
  await playDatabase(stage)
  console.part("PART TWO: the same promises for plain files that people can read")
  await playFiles(stage)
  console.part("PART THREE: preferences and secrets")
  await stage.play("Preferences: UserDefaults reads them, writes them, and may even damage them", preferencesAct)
  await stage.play("Secrets without a desktop: under a passphrase, and nowhere else", secretsAct)
  console.part("PART FOUR: encryption, for the day when somebody takes the disk")
  await stage.play("A stolen store: no file may reveal a customer, or a card", theftAct)
  await stage.play("A new key for every value: while it is written, and killed in the middle", rotationAct)
  await stage.play("Shredded: without their keys, the values are gone for good", shredAct)

  stage.summary.seconds = seconds(since: start)
  stage.summary.store = options.keep == nil ? nil : stage.path
  stage.summary.directory = options.keep == nil ? nil : shelf.directory.path
  if options.isJSON {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    write(String(decoding: try encoder.encode(stage.summary), as: UTF8.self) + "\n", to: STDOUT_FILENO)
  } else {
    close(stage)
  }
  return stage.summary.isPassed
}

private func playDatabase(_ stage: Stage) async {
  await stage.play("Real data: the products that web shops publish", loadAct)
  await stage.play("Save it all: a confirmed save must outlive a power cut; what does it cost?", saveAct)
  await stage.play("Close and reopen: everything must come back exactly as it was saved", reopenAct)
  await stage.play("Two doors, one store: values saved through one are observed at the other", doorsAct)
  await stage.play("A second process watches: it must receive every change, once, and quickly", watchAct)
  await stage.play("Pull the plug: a process saves as fast as it can; we kill it 10 times", plugAct)
  await stage.play("A damaged byte: one bad spot on a disk must not affect other values", damageAct)
  await stage.play("A new version of the app: it reads what the old one saved, and fails once", migrationAct)
}

private func playFiles(_ stage: Stage) async {
  await stage.play("A file for each product: it contains nothing but the bytes of the value", fileSaveAct)
  await stage.play("Pull the plug: five files change together or not at all, whenever we kill it", fileKillAct)
  await stage.play("An editor changes a file: every subscriber must receive the change, once", editorAct)
  await stage.play("A damaged file: it is reported and kept, and other files are unaffected", fileDamageAct)
  await stage.play("The journal is deleted: it must be rebuilt from the files alone", fileJournalAct)
  await stage.play("A third door: the same files for code that cannot await", callbackAct)
}

/// Prints the closing table.
private func close(_ stage: Stage) {
  let (console, summary) = (stage.console, stage.summary)
  console.line()
  console.line(console.styled("What was checked", .bold))
  var actBefore = 0
  let rows = summary.checks.map { check in
    let time = summary.acts.first { $0.act == check.act && $0.act != actBefore }.map { duration($0.seconds) } ?? ""
    let act = check.act == actBefore ? "  " : (check.act < 10 ? " " : "") + "\(check.act)"
    actBefore = check.act
    return ["\(act)  \(check.isPassed ? "ok    " : "FAILED")  \(check.what)", grouped(check.count), time]
  }
  console.table(["act", "count", "act took"], rows)
  console.line()
  let failed = summary.checks.filter { !$0.isPassed }.count
  let verdict =
    failed == 0
    ? console.styled("All \(summary.checks.count) checks passed", .green)
    : console.styled("\(failed) of \(summary.checks.count) checks FAILED", .red)
  console.line("\(verdict) in \(duration(summary.seconds)).")
  guard let store = summary.store, let directory = summary.directory else {
    return console.line("Both stores were removed; --keep DIR keeps them.")
  }
  console.line("The stores are kept: \(store)")
  console.line("                     \(directory)")
}

/// Creates a folder that replaces the user's directories, and disables the session bus to protect the user's keyring.
private func makeDesktop(in folder: URL) throws -> URL {
  let desktop = folder.appendingPathComponent("desktop")
  try FileManager.default.createDirectory(at: desktop, withIntermediateDirectories: true)
  setenv("XDG_CONFIG_HOME", desktop.path, 1)
  setenv("XDG_DATA_HOME", desktop.path, 1)
  unsetenv("DBUS_SESSION_BUS_ADDRESS")
  unsetenv("XDG_RUNTIME_DIR")
  return desktop
}

/// Creates the folder for both stores: the one of `--keep`, or a temporary one that is removed at the end.
private func makeFolder(keep: String?) throws -> URL {
  let files = FileManager.default
  guard let keep else {
    let folder = files.temporaryDirectory.appendingPathComponent("coffer-demo-\(UUID().uuidString.prefix(8))")
    Cleanup.remove(folder)
    try files.createDirectory(at: folder, withIntermediateDirectories: false)
    return folder
  }
  guard !files.fileExists(atPath: keep) || Options.isFolder(keep) else {
    throw UsageError("'\(keep)' is a file; --keep needs a folder.")
  }
  let folder = URL(fileURLWithPath: keep)
  let stores = ["shop.db", "products"].map { folder.appendingPathComponent($0).path }
  guard !stores.contains(where: { files.fileExists(atPath: $0) }) else {
    throw UsageError("There is a store in '\(keep)' already. Choose an empty folder.")
  }
  do {
    try files.createDirectory(at: folder, withIntermediateDirectories: true)
  } catch {
    throw UsageError("The folder '\(keep)' cannot be created: \(error.localizedDescription)")
  }
  return folder
}

/// Returns whether the folder is on tmpfs, where a sync costs nothing and guarantees nothing. Always false on macOS.
private func isInMemory(_ folder: URL) -> Bool {
  guard let mounts = try? String(contentsOfFile: "/proc/mounts", encoding: .utf8) else { return false }
  let path = folder.resolvingSymlinksInPath().path + "/"
  var longest = 0
  var kind: Substring = ""
  for line in mounts.split(separator: "\n") {
    let words = line.split(separator: " ")
    guard words.count > 2 else { continue }
    let mount: String = words[1] == "/" ? "/" : words[1] + "/"
    if path.hasPrefix(mount), mount.count >= longest { (longest, kind) = (mount.count, words[2]) }
  }
  return kind == "tmpfs"
}
