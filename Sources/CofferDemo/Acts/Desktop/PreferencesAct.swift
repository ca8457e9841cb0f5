import Coffer
import CofferCore
import Foundation

/// Stores preferences in the file of Foundation's `UserDefaults`, observes its changes, and recovers from a torn file.
func preferencesAct(_ stage: Stage) async throws {
  let console = stage.console
  let suite = "com.example.coffer-demo"
  let adapter = try await UserDefaultsAdapter.open(suiteName: suite)
  let moment = Date(timeIntervalSinceReferenceDate: 812_345_678.25)
  try await adapter.set("dark", for: "theme")
  try await adapter.set(30, for: "syncIntervalMinutes")
  try await adapter.set(.date(moment), for: "lastSync")
  console.line("   Three preferences are stored with their types.")
  console.line("   What Foundation's UserDefaults reads in another process:")
  let child = try Child(.defaults, [suite])
  defer { child.stop() }
  let read = [try child.line(), try child.line(), try child.line()]
  let names = ["theme", "syncIntervalMinutes", "lastSync"]
  console.line("   " + zip(names, read).map { "\($0) = \($1 ?? "nothing")" }.joined(separator: ", "))
  stage.check(
    read == ["dark", "30", "812345678.25"], "preferences read by UserDefaults, by type", count: read.count)

  var changes = adapter.engine.changes(since: nil).makeAsyncIterator()
  try child.tell("go on")
  guard try child.line() == "true" else { throw DemoError("UserDefaults could not write its file") }
  var heard = false
  if case .commit(let commit)? = await changes.next() {
    heard = commit.changed.contains(KeyName("theme")) && commit.origin == nil
  }
  let isLight = try await adapter.get("theme") == "light"
  stage.check(heard && isLight, "change by UserDefaults received, with its key", count: heard ? 1 : 0)
  try await adapter.set("dark", for: "theme")
  try await adapter.engine.close()
  try await tear(suite, stage)
}

/// Truncates the file to a half, as a program leaves it that is killed while it overwrites it.
private func tear(_ suite: String, _ stage: Stage) async throws {
  let file = stage.desktop.appendingPathComponent("\(suite).plist")
  let whole = try Data(contentsOf: file)
  try whole.prefix(whole.count / 2).write(to: file)
  stage.console.line("   Now the file is cut in half, as a program leaves it that is killed while it")
  stage.console.line("   overwrites it.")
  let reports = Locked<[DamageReport]>([])
  var configuration = SlotEngine.Configuration()
  configuration.onDamage = { report in reports.withLock { $0.append(report) } }
  let adapter = try await UserDefaultsAdapter.open(suiteName: suite, configuration: configuration)
  let keys = try await adapter.keys()
  let theme = try await adapter.get("theme")
  stage.check(
    keys.count == 3 && theme == "dark", "preferences read from the last copy", count: keys.count)
  let told = reports.withLock { $0.count }
  stage.check(told == 1, "damaged file reported once, its bytes kept", count: told)
  try await adapter.engine.close()
}
