import CofferCallbacks
import CofferCore
import Foundation

/// Deletes the journal and reopens the directory, which rebuilds the journal from the files.
func fileJournalAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let command = "rm .coffer/journal.db*"
  console.shell(command)
  _ = try shell(command, in: shelf.directory)
  let told = Locked<[RecoveryReport]>([])
  var configuration = SlotEngine.Configuration()
  configuration.onRecovery = { report in told.withLock { $0.append(report) } }
  let start = monotonicNanoseconds()
  try await shelf.withEngine(configuration) { engine in
    let took = seconds(since: start)
    let report = told.withLock { $0 }.first
    if report?.wasRebuilt == true {
      console.line("   Opening took \(duration(took)) and reported that the journal was missing")
      console.line("   and was rebuilt from \(counted(report?.edited ?? 0, "file")).")
    }
    let isTold = report?.wasRebuilt == true && told.withLock { $0.count } == 1
    stage.check(isTold, "journal rebuilt and reported as rebuilt", count: isTold ? 1 : 0)
    let readable = try await shelf.countReadable(engine)
    stage.summary.filesReadAfterRebuild = readable
    stage.check(readable == shelf.values.count, "files read through Coffer, all as before", count: readable)
    let listed = Locked<[KeyName]>([])
    try await engine.forEachEntry { entry in listed.withLock { $0.append(entry.key) } }
    stage.check(listed.withLock { $0 } == shelf.keys, "files listed, none more and none less", count: shelf.keys.count)
  }
  try stage.checkFiles()
}

/// Uses the directory through the interface for code with callbacks.
func callbackAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let (key, text) = (KeyName("opening-hours.txt"), "Mon-Fri 9-18\n")
  try await shelf.withEngine { engine in
    let storage: any KeyValueStorage = EngineKeyValueStorage(engine: engine)
    console.line("   storage.store(value: bytes, for: \"\(key)\") { error in")
    console.line("     storage.retrieve(for: \"\(key)\") { value, error in ... } }")
    let value: Bytes? = try await withCheckedThrowingContinuation { continuation in
      storage.store(value: Bytes(text.utf8), for: key.string) { error in
        if let error { return continuation.resume(throwing: error) }
        storage.retrieve(for: key.string) { value, error in
          continuation.resume(with: error.map { .failure($0) } ?? .success(value))
        }
      }
    }
    shelf.expect(Data(text.utf8), for: key)
    let command = "cat \(key)"
    console.shell(command, try shell(command, in: shelf.directory))
    let isBack = value == Bytes(text.utf8)
    stage.check(isBack, "value stored and retrieved by callbacks", count: isBack ? 1 : 0)
  }
  try stage.checkFiles()
}
