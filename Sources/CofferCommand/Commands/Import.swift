import Coffer
import CofferTerminal
import Foundation

/// Implements `coffer import`, which stores what another library has stored.
func importValues(_ invocation: Invocation) async throws -> ExitStatus {
  guard let path = try invocation.text(at: 0), let text = try invocation.text(at: 1), !path.isEmpty, !text.isEmpty
  else {
    throw Command.mistake("'import' needs SOURCE and STORE: \(Command.importValues.usage).", .importValues)
  }
  let source = try importSource(at: path, invocation)
  let options = try importOptions(invocation)
  let location = try StoreLocation(parsing: text)
  let sources = try KeySources(invocation)
  try refuseKeys(in: source, invocation)
  // Before the store is created.
  try source.check(against: location.expandingTilde)
  let engine = try await openTarget(location, sources, isDryRun: options.isDryRun)
  return try await closing(engine) { engine in
    let run = engine.import(from: source, options: options)
    return try await ImportCommand(invocation, store: location.description).follow(run)
  }
}

/// Opens the store. A dry run creates none: it compares with an empty one in memory.
private func openTarget(
  _ location: StoreLocation, _ sources: KeySources, isDryRun: Bool
) async throws -> any StorageEngine {
  guard isDryRun else {
    return try await openStore(at: location, sources, creating: true, requiringRing: sources.areNamed)
  }
  do {
    return try await openStore(at: location, sources, creating: false, access: .readOnly)
  } catch let error as CommandError where error.status == .notFound {
    return MemoryEngine()
  } catch let error as StorageError where error.code == .notFound {
    return MemoryEngine()
  }
}

/// Refuses to remove the files from which the key of the store was read.
private func refuseKeys(in source: Import.Source, _ invocation: Invocation) throws {
  guard invocation.has(.remove), case .files(let directory, _) = source else { return }
  let folder = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
  for option in [Option.keyFile, .passphraseFile] {
    guard let path = invocation.options[option] else { continue }
    let parent = URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    guard parent != folder else {
      throw Command.mistake(
        "--remove would delete the file of --\(option.rawValue), which is in SOURCE.", .importValues)
    }
  }
}

private func importOptions(_ invocation: Invocation) throws -> Import.Options {
  var options = Import.Options()
  (options.isDryRun, options.removesOriginals) = (invocation.has(.dryRun), invocation.has(.remove))
  if let text = invocation.options[.onConflict] {
    guard let policy = Import.Options.ConflictPolicy(rawValue: text) else {
      throw Command.mistake("--on-conflict takes refuse, keep or replace.", .importValues)
    }
    options.conflicts = policy
  }
  let (rules, takesOthers) = (try invocation.values(.map).map(MappingRule.init), !invocation.has(.onlyMapped))
  options.key = { name in
    for rule in rules {
      if let key = rule.key(for: name) { return try KeyName(key) }
    }
    return takesOthers ? try KeyName(name) : nil
  }
  return options
}

/// The keys of values whose names match the pattern of a `--map`. One `*` stands for any text.
private struct MappingRule: Sendable {
  let old, new: [Substring]

  init(_ text: String) throws {
    let equals = text.firstIndex(of: "=") ?? text.endIndex
    old = text[..<equals].split(separator: "*", omittingEmptySubsequences: false)
    new = text[equals...].dropFirst().split(separator: "*", omittingEmptySubsequences: false)
    guard old != [""], new != [""], old.count <= 2, new.count <= old.count else {
      throw Command.mistake("--map takes OLD=NEW, each with at most one *. A * in NEW needs one in OLD.", .importValues)
    }
  }

  func key(for name: String) -> String? {
    guard old.count == 2 else { return name == old[0] ? String(new[0]) : nil }
    guard name.count >= old[0].count + old[1].count, name.hasPrefix(old[0]), name.hasSuffix(old[1]) else { return nil }
    return new.joined(separator: String(name.dropFirst(old[0].count).dropLast(old[1].count)))
  }
}

/// Shows the progress and the outcome of an import.
private struct ImportCommand: Sendable {
  private let invocation: Invocation
  private let store: String

  init(_ invocation: Invocation, store: String) { (self.invocation, self.store) = (invocation, store) }

  func follow(_ run: Import.Run) async throws -> ExitStatus {
    let following = Following(
      label: invocation.has(.dryRun) ? "Checking" : "Importing",
      advice: "Nothing is lost. Run the same command again to continue.", store: store)
    let (report, elapsed) = try await following.end(of: run)
    try tell(report, elapsed)
    return report.isComplete ? .ok : .failure
  }

  private func tell(_ report: Import.Report, _ elapsed: Duration) throws {
    if invocation.has(.json) { return try print(report.json(store)) }
    for entry in report.entries {
      guard let reason = entry.outcome.reason else { continue }
      try? Output.error.note("'\(entry.name.oneLine())': \(reason).", after: "coffer:")
    }
    var text = report.isDryRun ? "It would import " : "Imported "
    text += "\(counted(report.imported, "value")) (\(byteCount(report.importedBytes)))"
    if !report.isDryRun { text += " in \(seconds(elapsed))" }
    let others = [
      (report.alreadyThere, "there already"), (report.conflicts, "in conflict"), (report.skipped, "skipped"),
      (report.unreadable, "unreadable"),
    ]
    for (count, what) in others where count > 0 { text += ", \(grouped(count)) \(what)" }
    if report.removedOriginals > 0 {
      text += ", and removed \(counted(report.removedOriginals, "original"))"
    }
    text += "."
    if report.conflicts > 0 {
      text += " The store has other values under those keys: --on-conflict keep or replace decides."
    }
    if report.unreadable > 0 { text += " What cannot be read stays as it is." }
    if report.base64Texts > 0 {
      text += " \(counted(report.base64Texts, "value")) of them would be stored as text that looks like base64"
      let other = ["json": "json-data", "stored-json": "stored-data"][invocation.options[.encoding] ?? ""]
      text += other.map { "; --encoding \($0) stores the bytes of such text." } ?? "."
    }
    try? Output.error.note(text)
  }
}

extension Import.Report.Outcome {
  /// The word for the outcome in JSON.
  fileprivate var word: String {
    switch self {
    case .imported: "imported"
    case .alreadyThere: "there"
    case .conflict: "conflict"
    case .skipped: "skipped"
    case .unreadable: "unreadable"
    }
  }

  /// The reason why the store does not have the value.
  fileprivate var reason: String? {
    switch self {
    case .imported, .alreadyThere: nil
    case .conflict: "the store has another value under its key"
    case .skipped(let reason), .unreadable(let reason):
      reason.hasSuffix(".") ? String(reason.oneLine().dropLast()) : reason.oneLine()
    }
  }
}

extension Import.Report {
  fileprivate func json(_ store: String) -> JSON {
    .object([
      ("store", .text(store)), ("dryRun", .flag(isDryRun)), ("imported", .number(imported)),
      ("importedBytes", .number(importedBytes)), ("there", .number(alreadyThere)), ("conflicts", .number(conflicts)),
      ("skipped", .number(skipped)), ("unreadable", .number(unreadable)), ("removed", .number(removedOriginals)),
      ("base64Texts", .number(base64Texts)),
      ("omitted", .number(omittedEntries)),
      (
        "values",
        .list(
          entries.map { entry in
            .object([
              ("name", .text(entry.name)), ("key", .optional(entry.key?.string)),
              ("outcome", .text(entry.outcome.word)),
              ("reason", .optional(entry.outcome.reason)), ("removed", .flag(entry.isOriginalRemoved)),
            ])
          })
      ),
    ])
  }
}
