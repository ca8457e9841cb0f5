import Coffer
import CofferFileSystem
import CofferKeychain
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTerminal
import Foundation

/// One store: its place, its files and whether it opens. What opening would mend or move away stays as it is: of a
/// store in slots, files and journal are looked at by themselves.
struct StoreChecks {
  let location: StoreLocation
  let passphrases: Passphrases

  func all() async -> [Finding] {
    switch location {
    case .chain(let links):
      let (finding, taken) = await chain()
      var findings = [finding]
      for (index, link) in links.enumerated() {
        // What is wrong with a home that is not needed is no more than a warning.
        let found = await StoreChecks(location: link, passphrases: passphrases).all()
        findings += index == taken ? found : found.map(\.asWarning)
      }
      return findings
    case .keychain: return KeychainChecks.all()
    case .memory: return [.ok(name, "ends with the command")]
    case .other: return await opened()
    case .sqlite(let path): return await place(path) { try await sqlite(path) }
    case .files(let directory):
      return await place(directory, values: directory, control: parts(of: directory + "/.coffer")) {
        try await files(directory)
      }
    case .preferences(let suite): return await preferences(suite)
    case .sealed(let path):
      return await place(path, control: parts(of: path + ".coffer")) {
        try await sealed(path)
      }
    }
  }

  private var name: String { location.description }

  private var isNew: Finding { .ok(name, "does not exist yet; it is made when something is stored") }

  /// Nothing to say of a place that is well, and of a store that is not there where one could be made.
  /// - Parameters:
  ///   - path: of the store.
  ///   - values: the directory whose files are replaced when something is stored: where that cannot be, what is there
  ///     can be read all the same. That of the path unless given.
  ///   - control: directories that are written to when the store is used for more than reading: the first has the
  ///     others in it, and is made where it is missing.
  private func place(
    _ path: String, values: String? = nil, control: [String] = [], _ look: () async throws -> [Finding]
  ) async -> [Finding] {
    let path = URL(fileURLWithPath: path).path
    func obstacles(to places: [String]) -> [Finding] {
      Array(
        places.map { SystemChecks.usable(name, URL(fileURLWithPath: $0).path) }.filter { $0.verdict != .ok }.prefix(1))
    }
    do {
      guard try PathParts.exists(path) else {
        let found = obstacles(to: [PathParts(path).parent])
        guard !found.contains(where: { $0.verdict == .problem }) else { return found }
        // One whose file is gone can be read all the same, as one without values.
        let isLeft = try control.first.map { try PathParts.exists($0) } ?? false
        return found + (isLeft ? obstacles(to: control).map(\.asWarning) : []) + (try await look())
      }
      let limits = obstacles(to: [values ?? PathParts(path).parent]).map(\.asWarning)
      // A directory is a store of files once ours is in it; other homes are there with their file.
      let isStore = values == nil || control.first.map { (try? PathParts.exists($0)) ?? false } ?? true
      let rights = obstacles(to: control)
      let canRead = isStore && control.allSatisfy { access($0, R_OK | X_OK) == 0 || errno == ENOENT }
      return limits + (canRead ? rights.map(\.asWarning) : rights) + (try await look())
    } catch {
      return [.problem(name, error)]
    }
  }

  private func kind(of path: String) throws -> mode_t? {
    guard try PathParts.exists(path) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError.fileSystem("stat", path: path, errno: errno) }
    return status.st_mode & S_IFMT
  }

  /// The directories of a store in slots that are written to when it is used; those that are there.
  private func parts(of control: String) -> [String] {
    [control]
      + ["owners", "staged", "retained", "quarantine"].map { control + "/" + $0 }
      .filter { access($0, F_OK) == 0 || errno != ENOENT }
  }

  /// What the journal of a store knows; `nil` where there is none. A copy is opened: SQLite and the engine
  /// tidy up in what they open.
  private func journal(in control: String) async throws -> (count: Int?, loss: LossReport?)? {
    guard try PathParts.exists(control + "/journal.db") else { return nil }
    let folder = NSTemporaryDirectory() + "/coffer-doctor-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/journal.db"
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      try await copyJournal(in: control, to: folder)
    } catch let error as StorageError where error.code == .busy {
      throw error
    } catch {
      throw StorageError(
        .inputOutput, "The journal in \(control) could not be read.",
        advice: "As its owner: chmod -R u+rwX \(control.quotedForShell)")
    }
    var configuration = SQLiteConfiguration.slotJournal(named: name)
    configuration.createsIfMissing = false
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    let facts = (try? await Listing(engine, of: StoreEntrySummary.self).count().all, try await engine.loss())
    try await engine.close()
    return facts
  }

  /// Both files as they were at one moment: who is writing to the journal meanwhile is let by.
  private func copyJournal(in control: String, to folder: String) async throws {
    // First the wake-up file: what it says of others' commits must be in what is copied after it.
    let files = ["/journal.db-wake", "/journal.db", "/journal.db-wal"]
    func stamps() throws -> [FileStamp?] {
      let directory = try Directory(control, backend: name)
      return try files.map { try directory.stamp(String($0.dropFirst())) }
    }
    for _ in 0..<50 {
      let before = try stamps().dropFirst()
      for (file, stamp) in zip(files, try stamps()) {
        try? FileManager.default.removeItem(atPath: folder + file)
        if stamp != nil { try FileManager.default.copyItem(atPath: control + file, toPath: folder + file) }
      }
      if try stamps().dropFirst() == before { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw StorageError(
      .busy, "Somebody writes to the store all the time, so that it cannot be looked at.", advice: "Try again later.",
      backend: name)
  }

  /// What a store has lost, until somebody accepts it.
  private func lost(_ loss: LossReport?) -> [Finding] {
    guard let loss else { return [] }
    let fix = "Restore a backup, or go on without: coffer verify --accept-loss --store \(name.quotedForShell)"
    return [loss.includesDurable ? .problem(name, loss.message, fix: fix) : .warning(name, loss.message, fix: fix)]
  }

  // MARK: Values

  /// What an open store says of itself.
  private struct Contents: Sendable {
    let count: (all: Int, skipped: Int)
    let obstacle: StorageError?
    let loss: LossReport?
    let log: LogStatus?

    init(_ engine: any StorageEngine) async throws {
      count = try await Listing(engine, of: StoreEntry.self).count()  // Whether each value can be read.
      let database = engine.as(SQLiteEngine.self)
      obstacle = database?.obstacleToWriting
      loss = try await database?.loss()
      log = try database?.logStatus()
    }
  }

  /// A store of which the command knows no more than that it opens.
  private func opened() async -> [Finding] {
    do {
      guard try location.exists() else { return [isNew] }
      let found = try await withStore(at: location, passphrases) { try await Contents($0) }
      return [.ok(name, counted(found.count.all, "key"))]
    } catch {
      return [.problem(name, error)]
    }
  }

  private func sqlite(_ path: String) async throws -> [Finding] {
    guard let kind = try kind(of: path) else { return [isNew] }
    guard try kind != S_IFDIR || PathParts.exists(path + "/.coffer/journal.db") else {
      return [
        .problem(
          name, "The path is a directory; a store is a file.",
          fix: "Give the path of a file, or file:\(path.quotedForShell) for a file per key.")
      ]
    }
    let found: Contents
    do {
      found = try await withStore(at: location, passphrases) { try await Contents($0) }
    } catch let error as CommandError where error.status == .notFound {
      return [isNew]  // An empty file.
    }
    let limits = found.obstacle.map { [Finding.warning(name, $0.message, fix: "To write: \($0.advice)")] } ?? []
    guard found.count.skipped == 0 else {
      return limits + [
        .problem(
          name, "\(counted(found.count.skipped, "value")) of \(grouped(found.count.all)) cannot be read.",
          fix: "coffer verify --store \(name.quotedForShell)")
      ]
    }
    return limits + [.ok(name, counted(found.count.all, "key"))] + lost(found.loss)
      + (found.log.flatMap(tooLong).map { [$0] } ?? [])
  }

  /// A log that has grown since somebody reads an old state of the store.
  private func tooLong(_ log: LogStatus) -> Finding? {
    guard log.isTooLong else { return nil }
    let readers = log.readers.map { $0.description.oneLine() }.joined(separator: ", ")
    return .warning(
      name, "Its log has \(byteCount(log.bytes))" + (readers.isEmpty ? "." : ": \(readers) reads an older state."),
      fix: readers.isEmpty
        ? "It shrinks with the next commits." : "Let that program end its snapshot, or end it; then the log shrinks.")
  }

  private func files(_ directory: String) async throws -> [Finding] {
    guard let kind = try kind(of: directory) else { return [isNew] }
    guard kind == S_IFDIR else {
      let quoted = directory.quotedForShell
      return [
        .problem(
          name, "\(directory) is no directory, and a store of files is one.",
          fix: "For a database file: --store \(quoted). Else: mv \(quoted) \(quoted).old")
      ]
    }
    guard let journal = try await journal(in: directory + "/.coffer") else {
      guard try PathParts.exists(directory + "/.coffer") else {
        return [.ok(name, "a directory without a store; it becomes one when something is stored")]
      }
      return [
        .warning(
          name, "The store has lost its journal; its revisions start again.",
          fix: "coffer ls --store \(name.quotedForShell) makes it anew from the files.")
      ]
    }
    return [.ok(name, journal.count.map { counted($0, "key") } ?? "a store")] + lost(journal.loss)
      + RetainedCheck(store: name, control: directory + "/.coffer").all()
  }

  private func preferences(_ suite: String) async -> [Finding] {
    do {
      let (path, control) = try PreferencesInspection.place(of: suite)
      return await place(path, control: parts(of: control)) {
        try await preferences(path, control)
      }
    } catch {
      return [.problem(name, error)]
    }
  }

  private func preferences(_ path: String, _ control: String) async throws -> [Finding] {
    let quoted = path.quotedForShell
    guard try kind(of: path) != S_IFDIR else {
      return [.problem(name, "\(path) is a directory, and a file is needed there.", fix: "mv \(quoted) \(quoted).old")]
    }
    let loss = lost(try await journal(in: control)?.loss)
    do {
      guard let count = try PreferencesInspection.inspect(path) else { return [isNew] + loss }
      return [.ok(name, counted(count, "key"))] + loss + RetainedCheck(store: name, control: control).all()
    } catch let error as StorageError where error.code == .damaged {
      let copy = control + "/copy"
      let hasCopy = (try? PreferencesInspection.inspect(copy)) ?? nil != nil
      let fix =
        hasCopy
        ? "Use the store, which takes what Coffer wrote last, or: cp \(copy.quotedForShell) \(quoted)"
        : "Put a backup in its place, or begin anew: mv \(quoted) \(quoted).old"
      let message = "\(path) is damaged: it is no property list of names and values."
      return [hasCopy ? .warning(name, message, fix: fix) : .problem(name, message, fix: fix)]
    }
  }

  // MARK: Secrets

  /// The passphrase is not asked for: without one only the header is read.
  private func sealed(_ path: String) async throws -> [Finding] {
    let control = path + ".coffer"
    var status = stat()
    guard try kind(of: path) != nil, stat(path, &status) == 0 else {
      let hasRemains = try ["/journal.db", "/copy"].contains { try PathParts.exists(control + $0) }
      guard hasRemains else { return [isNew] }
      return [
        .problem(
          name, "The sealed file is gone, though its journal is still there.",
          fix: "\(restoring(path)); or, to begin with an empty store: rm -r \(control.quotedForShell)")
      ]
    }
    var findings: [Finding] = []
    if status.st_mode & 0o077 != 0 {
      findings.append(
        .warning(name, "Other users may read or write the sealed file.", fix: "chmod 600 \(path.quotedForShell)"))
    }
    findings += passphrases.findings(for: name)
    let isUsable = passphrases.areGiven && !findings.contains { $0.verdict == .problem }
    do {
      let source = isUsable ? try passphrases.source(for: path) : nil
      let count = try await SealedInspection.inspect(URL(fileURLWithPath: path).path, passphrase: source)
      findings += lost(try await journal(in: control)?.loss)
      findings.append(.ok(name, count.map { counted($0, "key") } ?? "sealed; no passphrase was given to open it"))
      findings += RetainedCheck(store: name, control: control).all()
    } catch let error as StorageError where error.code == .damaged {
      let serves = isUsable ? try? await copyCount(path) : nil
      let fix =
        serves == nil ? restoring(path) : "Use the store, which takes what Coffer wrote last. \(restoring(path))."
      findings.append(serves == nil ? .problem(name, error.message, fix: fix) : .warning(name, error.message, fix: fix))
    } catch {
      findings.append(.problem(name, error))
    }
    return findings
  }

  /// How many values the copy has that serves in place of a damaged file.
  private func copyCount(_ path: String) async throws -> Int? {
    let copy = URL(fileURLWithPath: path).path + ".coffer/copy"
    return try await SealedInspection.inspect(copy, passphrase: try passphrases.source(for: path))
  }

  /// How a sealed file comes back.
  private func restoring(_ path: String) -> String {
    let copy = path + ".coffer/copy"
    guard access(copy, F_OK) == 0 else { return "Put a backup in its place" }
    return "Put a backup in its place, or what Coffer wrote last: cp \(copy.quotedForShell) \(path.quotedForShell)"
  }

  private func chain() async -> (finding: Finding, taken: Int?) {
    do {
      guard let chain = try location.secretChain(passphrases.options(creating: false)) else {
        return (.ok("chain", "no homes"), nil)
      }
      let choice = try await chain.choose()
      return (.ok("chain", "\(choice.link) is taken: \(choice.reason)"), choice.index)
    } catch {
      return (.problem("chain", error), nil)
    }
  }
}
