import Coffer
import Foundation

/// The result of one check.
struct Check: Encodable {
  let act: Int
  let what: String
  let count: Int
  let isPassed: Bool
}

/// The duration of one act.
struct ActTime: Encodable {
  let act: Int
  let seconds: Double
}

/// The summary that `--json` prints.
struct Summary: Encodable {
  var isPassed = true
  var source = ""
  var products = 0
  var variants = 0
  var savedOneByOne = 0
  var savedInOneBatch = 0
  var savedConcurrently = 0
  var concurrentWriters = 0
  var syncsForConcurrentSaves = 0
  var microsecondsPerSave: [Double] = []
  var readBack = 0
  var changesSent = 0
  var changesHeard = 0
  var medianLatencyMicroseconds = 0.0
  var kills = 0
  var killsInsideASave = 0
  var productsConfirmedBeforeAKill = 0
  var lost = 0
  var halfBatches = 0
  var damagedValuesReported = 0
  var readBesideTheDamage = 0
  var readAfterMigration = 0
  var files = 0
  var fileKills = 0
  var filesLost = 0
  var halfFileBatches = 0
  var filesReadAfterRebuild = 0
  var wordsFoundInPlain = 0
  var wordsFoundEncrypted = 0
  var rotationKills = 0
  var readAfterRotation = 0
  var readAfterShredding = -1
  var checks: [Check] = []
  var acts: [ActTime] = []
  var seconds = 0.0
  /// The path of the database file, if it is kept.
  var store: String?
  /// The path of the directory of files, if it is kept.
  var directory: String?
}

/// The environment of the acts: the paths of both stores, the data, the console and the summary.
final class Stage {
  let console: Console
  let catalogue: Catalogue
  let path: String
  let shelf: Shelf
  /// The folder for preferences and secrets, which replaces the user's directories.
  let desktop: URL
  var summary = Summary()
  private var act = 0
  /// The encrypted store, created by the first act that needs it.
  private var createdVault: Vault?

  init(_ catalogue: Catalogue, path: String, shelf: Shelf, desktop: URL, console: Console) {
    self.catalogue = catalogue
    self.path = path
    self.shelf = shelf
    self.desktop = desktop
    self.console = console
    summary.source = catalogue.source
  }

  /// Returns the encrypted store with its orders.
  func vault() throws -> Vault {
    if let createdVault { return createdVault }
    let vault = try Vault(in: desktop.appendingPathComponent("vault"), orders: 1_500, of: catalogue)
    createdVault = vault
    return vault
  }

  /// Runs one act. An act that throws counts as a failed check and does not prevent the following ones.
  func play(_ heading: String, _ body: (Stage) async throws -> Void) async {
    act += 1
    console.act(act, heading)
    let start = monotonicNanoseconds()
    do {
      try await body(self)
    } catch {
      check(false, "acts completed: \(error)", count: 0)
    }
    summary.acts.append(ActTime(act: act, seconds: seconds(since: start)))
  }

  /// Records and prints the result of a check. A failed check makes the exit code 1.
  func check(_ isPassed: Bool, _ what: String, count: Int) {
    summary.checks.append(Check(act: act, what: what, count: count, isPassed: isPassed))
    summary.isPassed = summary.isPassed && isPassed
    console.result(isPassed, count, what)
    if !isPassed, console.isQuiet { write("FAILED in act \(act): \(what) (\(count))\n", to: STDERR_FILENO) }
  }

  /// Opens the store, calls `body`, and closes the engine even when `body` throws.
  func withEngine<R>(
    _ configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration(), _ body: (SQLiteEngine) async throws -> R
  ) async throws -> R {
    try await closing(try await SQLiteEngine.open(at: path, configuration: configuration), after: body)
  }
}

/// Calls `body` with an engine, and closes the engine even when `body` throws.
func closing<Engine: StorageEngine, R>(
  _ engine: Engine, after body: (Engine) async throws -> R
) async throws -> R {
  let result: R
  do {
    result = try await body(engine)
  } catch {
    try? await engine.close()  // The first error is the one to report.
    throw error
  }
  try await engine.close()
  return result
}

extension StorageEngine {
  /// Calls `body` with every entry under a prefix, all from one snapshot of the store.
  func forEachEntry(under prefix: KeyName? = nil, _ body: @Sendable (StoreEntry) -> Void) async throws {
    try await withSnapshot { try await $0.forEach(prefix: prefix) { body($0) } }
  }
}
