import Coffer
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTerminal
import Foundation

/// Implements `coffer restore`, which replaces the store with a backup.
func restoreStore(_ invocation: Invocation) async throws -> ExitStatus {
  let (location, path) = try invocation.storeAndBackup()
  let sources = try KeySources(invocation)
  let question = "Replace the contents of \(location.description.oneLine()) with \(path.oneLine())?"
  try await invocation.askForConsent(question, otherwise: "Nothing was changed.")
  return try await interruptible {
    do {
      let progress = BackupLine()
      defer { progress.clear() }
      let form = try await restoredForm(of: path, for: location, sources, invocation)
      var restored = try await restore(location, from: path, sources.passphrases, invocation, progress)
      restored.isEncrypted = form.isEncrypted
      progress.clear()
      if invocation.has(.json) {
        try print(restored.json)
      } else {
        let kept = restored.replaced.map { " The replaced data is kept as \($0.oneLine())." } ?? ""
        ProgressLine("").note(
          "Restored \(counted(restored.values, "value")) in \(seconds(progress.elapsed)).\(form.sentence)\(kept)")
      }
      return .ok
    } catch is CancellationError {
      throw CommandError(.interrupted, "interrupted", "Interrupted: nothing was changed.")
    }
  }
}

private struct Restored: Sendable {
  let store: String
  let backup: String
  var revision: StoreRevision?
  let values: Int
  let replaced: String?
  var isEncrypted = false

  var json: JSON {
    .object([
      ("store", .text(store)), ("backup", .text(backup)), ("revision", revision.map { .number($0.rawValue) } ?? .none),
      ("values", .number(values)), ("replaced", .optional(replaced)),
      ("encrypted", .flag(isEncrypted)),
    ])
  }
}

private func restore(
  _ location: StoreLocation, from path: String, _ passphrases: Passphrases, _ invocation: Invocation,
  _ progress: BackupLine
) async throws -> Restored {
  let keeps = !invocation.has(.discard)
  switch location {
  case .sqlite(let store):
    var options = RestoreOptions()
    options.takesOver = invocation.has(.takeOver)
    options.keepsReplaced = keeps
    let report = try await SQLiteEngine.restore(from: path, to: store, options: options, progress: progress.update)
    return Restored(
      store: location.description, backup: path, revision: report.revision, values: report.values,
      replaced: report.replaced)
  case .sealed(let file):
    let target = URL(fileURLWithPath: file)
    let kept = keeps ? nameForReplaced(target.path) : nil
    let report = try await SealedBackup.putBack(
      path, at: target, passphrase: try passphrases.source(for: path), takesOver: invocation.has(.takeOver),
      keepingReplacedAs: kept)
    return Restored(store: location.description, backup: path, values: report.values, replaced: report.replaced)
  case .files, .preferences:
    // As it is stored: an encrypted backup needs no key.
    let base = try await openStoredForm(of: location, passphrases, creating: true)
    return try await closing(base) { engine in
      guard let engine = engine.as(SlotEngine.self) else { throw noBackup(engine.description) }
      let isEmpty = try await engine.withSnapshot { try await $0.summaries(prefix: nil, after: nil, limit: 1).isEmpty }
      // A path follows the scheme, also for preferences.
      let target = String(engine.description.drop { $0 != ":" }.dropFirst())
      let kept = keeps && !isEmpty ? nameForReplaced(target) : nil
      let report = try await engine.restore(from: path, keepingReplacedAt: kept)
      return Restored(
        store: engine.description, backup: path, revision: report.revision, values: report.values, replaced: kept)
    }
  // A backup holds what is stored: encrypted values with their key ring.
  case .encrypted(let base): return try await restore(base, from: path, passphrases, invocation, progress)
  case .keychain, .chain, .memory, .other: throw noBackup(location.description)
  }
}

/// Returns an unused path beside a store, such as `app.db.replaced-20261122-010203`.
private func nameForReplaced(_ path: String) -> String {
  let date = Date().formatted(
    Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day().timeSeparator(.omitted).dateSeparator(.omitted)
      .time(includingFractionalSeconds: false))
  let name = "\(path).replaced-\(date)"
  guard access(name, F_OK) == 0 else { return name }
  return (2...).lazy.map { "\(name)-\($0)" }.first { access($0, F_OK) != 0 } ?? name
}
