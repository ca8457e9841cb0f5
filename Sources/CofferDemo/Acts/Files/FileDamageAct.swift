import Coffer
import CofferCore
import Foundation

/// Changes one byte of a file and restores its date, as a failing disk would leave it, and reads everything.
func fileDamageAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let keys = shelf.keys
  let victim = keys[keys.count / 2]
  guard let good = shelf.values[victim],
    let offset = good.dropFirst(16).firstIndex(where: { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 })
  else { throw DemoError("'\(victim)' has no letter to change") }
  let change = try keepingDate(of: shelf.path(victim)) { try flip(byteAt: offset, inFile: shelf.path(victim)) }
  guard let bad = shelf.bytes(of: victim), bad != good else { throw DemoError("'\(victim)' was not changed") }

  let reports = Locked<[DamageReport]>([])
  var configuration = SlotEngine.Configuration()
  configuration.onDamage = { report in reports.withLock { $0.append(report) } }
  try await shelf.withEngine(configuration) { engine in
    console.line("   In \(Shelf.name(victim).prefix(70)),")
    console.line(
      "   '\(change.old)' has become '\(change.new)'. Its size and date are as before.")
    console.line("   Reading it now fails. The error names the key and says:")
    var message = ""
    for _ in 0..<2 {  // Every read throws the error, but each damage is reported only once.
      do {
        _ = try await engine.entry(victim)
        message = ""
      } catch let error as StorageError where error.code == .damaged && error.key == victim {
        message = error.message
      }
    }
    if !message.isEmpty { console.sentence("\"\(message)\"") }
    let isNamed = !message.isEmpty && reports.withLock { $0.map(\.key) } == [victim]
    stage.check(isNamed, "damaged file, reported once with its key", count: reports.withLock { $0.count })
    let kept = try quarantined(shelf)
    stage.check(kept == [bad], "damaged file kept, in .coffer/quarantine", count: kept.count)
    let readable = try await shelf.countReadable(engine, except: victim)
    stage.check(readable == keys.count - 1, "other files read, all as they were saved", count: readable)
    try await engine.commit(WriteBatch([.put(victim, good)]), from: StoreOrigin())
    let isBack = try await engine.entry(victim)?.value == good
    stage.check(isBack, "file intact after saving it again", count: isBack ? 1 : 0)
  }
}

private func quarantined(_ shelf: Shelf) throws -> [Data] {
  let folder = shelf.directory.appendingPathComponent(".coffer/quarantine")
  return try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
    try Data(contentsOf: folder.appendingPathComponent($0))
  }
}

/// Restores the date of a file, to the nanosecond, after `body` has changed the file.
private func keepingDate<R>(of path: String, _ body: () throws -> R) throws -> R {
  var status = stat()
  guard stat(path, &status) == 0 else { throw DemoError("there is no file at \(path)") }
  let result = try body()
  #if canImport(Darwin)
    let times = [status.st_atimespec, status.st_mtimespec]
  #else
    let times = [status.st_atim, status.st_mtim]
  #endif
  guard utimensat(AT_FDCWD, path, times, 0) == 0 else { throw DemoError("the date of \(path) cannot be restored") }
  return result
}
