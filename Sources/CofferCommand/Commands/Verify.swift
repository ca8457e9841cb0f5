import Coffer
import CofferEncryption
import CofferSQLite
import CofferTerminal

/// Implements `coffer verify`, which reads every value once and lists the damaged ones.
func verifyStore(_ invocation: Invocation) async throws -> ExitStatus {
  if invocation.has(.null), invocation.has(.json) {
    throw Command.mistake("'verify' takes --null or --json, not both.", .verify)
  }
  return try await interruptible {
    do {
      try await salvage(invocation)
      let anchor = try AnchorFile(invocation)
      return try await withStore(
        at: StoreLocation.of(invocation), KeySources(invocation), access: invocation.access, for: .ifGiven,
        anchor: anchor
      ) { engine in
        tellAcceptance(anchor, invocation)
        try await repair(engine, invocation)
        let verifier = Verifier(engine, invocation, accepted: anchor?.accepted)
        try await verifier.run()
        try verifier.tell()
        return verifier.status
      }
    } catch is CancellationError {
      throw CommandError(.interrupted, "interrupted", "Interrupted: nothing was checked.")
    }
  }
}

/// Rewrites a database whose damaged pages prevent it from opening, if `--accept-loss` was given.
private func salvage(_ invocation: Invocation) async throws {
  guard invocation.has(.acceptLoss), !invocation.has(.readOnly),
    case .sqlite(let path) = try StoreLocation.of(invocation).unencrypted
  else { return }
  var configuration = SQLiteEngine.Configuration()
  configuration.createsIfMissing = false
  do {
    try await SQLiteEngine.open(at: path, configuration: configuration).close()
  } catch let error as StorageError where error.code == .damaged {
    try await SQLiteEngine.salvage(at: path)
  }
}

/// Says what `--accept-rollback` has accepted.
private func tellAcceptance(_ anchor: AnchorFile?, _ invocation: Invocation) {
  guard let anchor, anchor.acceptsRollback, !invocation.has(.json) else { return }
  let text =
    anchor.accepted.map {
      "\($0.message.oneLine()) It was accepted as it is: any newer copy is refused from now on."
    } ?? "There was nothing to accept: the store is not older than its anchor."
  try? Output.error.note(text, after: "coffer:")
}

/// Performs `--upgrade` and `--accept-loss` before the check.
private func repair(_ engine: any StorageEngine, _ invocation: Invocation) async throws {
  guard invocation.has(.acceptLoss) || invocation.has(.upgrade) else { return }
  guard let database = engine.database else {
    throw Command.mistake("'--accept-loss' and '--upgrade' are for stores that have a database.", .verify)
  }
  if invocation.has(.upgrade) { try await database.upgrade() }
  if invocation.has(.acceptLoss) { try await database.acceptLoss() }
}

private final class Verifier {
  private let engine: any StorageEngine
  private let asJSON: Bool
  private let end: String
  private let output = Output.standard
  private let progress = ProgressLine("Checking:")
  private var values = 0
  private var last: KeyName?
  private var bytes = 0
  private var damaged: [KeyName] = []
  private var unreadable: [Skipped] = []
  /// The result of the check of the whole database, or `nil` for a store without one.
  private var integrity: IntegrityReport?
  /// The problems of the store's files other than its values and its journal, a sentence each.
  private var files: [String] = []
  /// The error that ended the reading of values early.
  private var failure: StorageError?
  private var isInterrupted = false
  /// The number of encrypted values that were not opened, since no key was given.
  private var unopened = 0

  /// The difference to the anchor that was accepted.
  private let accepted: StorageError?

  init(_ engine: any StorageEngine, _ invocation: Invocation, accepted: StorageError?) {
    self.engine = engine
    self.accepted = accepted
    asJSON = invocation.has(.json)
    end = invocation.has(.null) ? "\0" : "\n"
  }

  var status: ExitStatus {
    if isInterrupted { return .interrupted }
    let isGood =
      damaged.isEmpty && unreadable.isEmpty && failure == nil && files.isEmpty && integrity?.isWhole ?? true
    return isGood ? .ok : .failure
  }

  func run() async throws {
    defer { progress.clear() }
    do {
      try await Listing(engine, of: StoreEntry.self).visit { item in
        try Task.checkCancellation()
        try take(item)
        progress.update(values: values, bytes: bytes)
      }
    } catch is CancellationError {
      isInterrupted = true
      return
    } catch let error as StorageError where error.code != .unsupported {
      failure = error
      let which = last.map { "The values after '\($0.string.oneLine())'" } ?? "The values"
      note("\(which) could not be read: \(error.message)")
    }
    progress.show("Checking the structure of the file")
    do {
      integrity = try await engine.integrity()
      files = try await engine.as(SlotEngine.self)?.problems() ?? []
    } catch is CancellationError {
      isInterrupted = true
    } catch {
      guard failure != nil else { throw error }  // Otherwise it is the same failure, already reported.
    }
    for problem in problems { note(problem) }
    if integrity?.hasPageChecksums == false {
      note("The pages of the database have no checksums: 'coffer verify --upgrade' adds them.")
    }
    if integrity?.loss != nil { note("To accept the loss: 'coffer verify --accept-loss'.") }
  }

  /// The problems other than single values, a sentence each.
  private var problems: [String] {
    guard let integrity else { return files }
    let structure = integrity.structure.map { "The structure of the file is damaged: \($0)" }
    return integrity.problems.filter { !integrity.structure.contains($0) } + structure + files
  }

  private func take(_ item: Listing<StoreEntry>.Item) throws {
    values += 1
    last = item.key
    switch item {
    case .found(let entry):
      bytes += entry.value.count
      if entry.attributes.isMarked { unopened += 1 }
    case .skipped(let skipped) where skipped.isDamaged:
      damaged.append(skipped.key)
      if !asJSON { try name(skipped.key) }
    case .skipped(let skipped):
      unreadable.append(skipped)
      note("'\(skipped.key.string.oneLine())' could not be read: \(skipped.error.message)")
    }
  }

  /// Prints a damaged key and flushes, since the keys may be read from a pipe.
  private func name(_ key: KeyName) throws {
    progress.clear()
    try output.write((output.isTerminal ? output.style.red(key.string.oneLine()) : key.string) + end)
    try output.flush()
  }

  private func note(_ text: String) {
    if !asJSON { progress.note(text.oneLine(), after: "coffer:") }
  }

  func tell() throws {
    if asJSON { return try print(json) }
    var findings: [String] = []
    if !damaged.isEmpty { findings.append("\(grouped(damaged.count)) damaged") }
    if unreadable.contains(where: { $0.error.code == .keyUnavailable }) { findings.append("the key ring is lost") }
    if !unreadable.isEmpty { findings.append("\(grouped(unreadable.count)) could not be read") }
    if failure != nil { findings.append("the rest could not be read") }
    if !files.isEmpty { findings.append("files of the store are damaged") }
    if integrity?.loss != nil { findings.append("commits are lost") }
    if integrity?.rowsAreComplete == false { findings.append("values are missing") }
    if integrity.map({ !$0.structure.isEmpty || !$0.damagedPages.isEmpty || !$0.damagedCommits.isEmpty }) == true {
      findings.append("the structure of the file is damaged")
    }
    if findings.isEmpty { findings.append(isInterrupted ? "nothing damaged so far" : "all good") }
    if unopened > 0 {
      let verb = unopened == 1 ? "is" : "are"
      note("\(counted(unopened, "value")) \(verb) encrypted and not opened, since no key was given.")
    }
    let extent = "\(counted(values, "value")) (\(byteCount(bytes))) in \(seconds(progress.elapsed))"
    let interruption = isInterrupted ? ", then interrupted" : ""
    progress.note("Checked \(extent)\(interruption): \(findings.joined(separator: ", ")).")
  }

  private var json: JSON {
    let (reason, accepted) = (failure.map(Self.json), accepted.map(Self.json))
    return .object([
      ("store", .text(engine.description)), ("checked", .number(values)), ("valueBytes", .number(bytes)),
      ("damaged", .list(damaged.map { .text($0.string) })), ("unreadable", .list(unreadable.map(\.json))),
      ("structure", integrity == nil ? .none : .list(problems.map(JSON.text))),
      ("pageChecksums", integrity.map { .flag($0.hasPageChecksums) } ?? .none),
      ("loss", integrity?.loss?.json ?? .none), ("unopened", .number(unopened)), ("failure", reason ?? .none),
      ("accepted", accepted ?? .none), ("interrupted", .flag(isInterrupted)),
    ])
  }

  private static func json(_ error: StorageError) -> JSON {
    .object([("code", .text(error.code.description)), ("message", .text(error.message))])
  }
}
