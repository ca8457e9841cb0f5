import Coffer
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTerminal
import Foundation

/// Implements `coffer backup`, which copies the store into a file.
func backUpStore(_ invocation: Invocation) async throws -> ExitStatus {
  let (location, path) = try invocation.storeAndBackup()
  let overwrite = invocation.has(.overwrite)
  let sources = try KeySources(invocation)
  return try await interruptible {
    do {
      let progress = BackupLine()
      defer { progress.clear() }
      // As it is stored: encrypted values need no key, and stay encrypted.
      let base = try await openStoredForm(
        of: location, sources.passphrases, creating: false, access: invocation.access)
      let outcome = try await closing(base) { engine in
        try await sources.checkKey(of: engine, location)
        return try await backUp(engine, location, to: path, overwrite: overwrite, progress)
      }
      progress.clear()
      if invocation.has(.json) {
        try print(outcome.json)
      } else {
        ProgressLine("").note(
          "Backed up \(counted(outcome.values, "value")) (\(byteCount(outcome.fileBytes))) to "
            + "\(outcome.path.oneLine()) in \(seconds(progress.elapsed)).")
      }
      return .ok
    } catch is CancellationError {
      throw CommandError(.interrupted, "interrupted", "Interrupted: there is no backup.")
    }
  }
}

private struct Outcome: Sendable {
  let store: String
  let path: String
  var revision: StoreRevision?
  let values: Int
  let fileBytes: Int

  var json: JSON {
    .object([
      ("store", .text(store)), ("backup", .text(path)), ("revision", revision.map { .number($0.rawValue) } ?? .none),
      ("values", .number(values)), ("fileBytes", .number(fileBytes)),
    ])
  }
}

private func backUp(
  _ engine: any StorageEngine, _ location: StoreLocation, to path: String, overwrite: Bool, _ progress: BackupLine
) async throws -> Outcome {
  let store = engine.description
  if case .sealed(let file) = location, let slots = engine.as(SlotEngine.self) {
    let report = try await SealedBackup.make(
      of: slots, at: URL(fileURLWithPath: file), to: path, overwrite: overwrite)
    return Outcome(store: store, path: report.path, values: report.values, fileBytes: report.fileBytes)
  }
  let report: BackupReport
  if let engine = engine.as(SQLiteEngine.self) {
    report = try await engine.backup(to: path, overwrite: overwrite, progress: progress.update)
  } else if let engine = engine.as(SlotEngine.self) {
    report = try await engine.backup(to: path, overwrite: overwrite)
  } else {
    throw noBackup(store)
  }
  return Outcome(
    store: store, path: report.path, revision: report.revision, values: report.values, fileBytes: report.fileBytes)
}

extension KeySources {
  /// Checks that a given key opens the store, so that its backup is not one that opens with nothing.
  fileprivate func checkKey(of engine: any StorageEngine, _ location: StoreLocation) async throws {
    guard areNamed, location.isEncrypted || !location.keepsSecrets else { return }
    guard let stored = try await StoredKeyRingFacts(engine) else {
      throw protectsNothing("The store", "written", location)
    }
    _ = try await openRing(stored, of: engine)
  }
}

/// Returns the error for a store of a kind that has no backups.
func noBackup(_ store: String) -> StorageError {
  StorageError(
    .unsupported, "A store of this kind has no backups.",
    advice: "Copy its values with 'coffer cp' into a store that has: sealed:PATH for secrets.", location: store)
}

extension Invocation {
  /// Returns the location of the selected store and the path of the backup.
  func storeAndBackup() throws -> (StoreLocation, String) {
    guard let path = try text(at: 0, as: "FILE"), !path.isEmpty, operands.count == 1 else {
      throw Command.mistake("'\(command.rawValue)' needs one FILE: \(command.usage).", command)
    }
    return (try StoreLocation.of(self), path)
  }
}
