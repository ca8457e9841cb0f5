import CofferTerminal
import Foundation

/// Performs all acts in a new folder. Returns whether every check has passed.
func demonstrate(in folder: URL, isKept: Bool) async throws -> Bool {
  let signals = Signals([SIGINT, SIGTERM, SIGHUP]) { Cleanup.exit(130) }
  defer { withExtendedLifetime(signals) {} }
  DispatchQueue.global().asyncAfter(deadline: .now() + 110) {
    try? Output.error.note("The demonstration was stopped after 110 seconds.", after: "coffer-demo:")
    Cleanup.exit(1)
  }
  // Preferences and secrets belong into the folder, not into the user's directories and keyring.
  for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] { setenv(name, folder.path, 1) }
  for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] { unsetenv(name) }

  let (start, stage) = (ContinuousClock.now, Stage(folder))
  try stage.line(stage.style.bold("Coffer keeps what an app must not lose. Nine acts put that to the test."))
  try await stage.play("Save and reopen: what does a save cost that outlives a power cut?", saveAct)
  try await stage.play("A second process watches: it receives every change, once", watchAct)
  try await stage.play("Pull the plug: a process saves as fast as it can, and is killed", killAct)
  try await stage.play("A damaged byte: it is reported, and affects no other value", damageAct)
  try await stage.play("A new version of the app reads what the old one has saved", migrationAct)
  try await stage.play("Three doors to one store, two of them with callbacks or raw bytes", doorsAct)
  try await stage.play("A file for each value, which any editor may change", filesAct)
  try await stage.play("Preferences that UserDefaults reads, and secrets without a desktop", desktopAct)
  try await stage.play("Encryption: a theft, a new key, and an erasure", encryptionAct)

  let all = "All \(stage.passed) checks passed"
  let verdict = stage.failed == 0 ? stage.style.green(all) : stage.style.red("\(counted(stage.failed, "check")) FAILED")
  try stage.line("\n\(verdict) in \(text(ContinuousClock.now - start)).")
  try stage.line(isKept ? "The stores are in \(folder.path)." : "The stores were removed; --keep DIR keeps them.")
  return stage.failed == 0
}
