import Coffer
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTerminal
import Foundation

/// The checks of one store: its location, its files and whether it opens.
///
/// Nothing is changed: a slot store is not opened, which would perform recovery, but its files and a copy of its
/// journal are inspected.
struct StoreChecks {
  let location: StoreLocation
  let sources: KeySources

  private var passphrases: Passphrases { sources.passphrases }

  func all() async -> [Finding] {
    switch location {
    case .chain(let links):
      let (finding, taken) = await chain()
      var findings = [finding]
      for (index, link) in links.enumerated() {
        // Problems of the stores that were not selected are only warnings.
        let found = await StoreChecks(location: link, sources: sources).all()
        findings += index == taken ? found : found.map(\.asWarning)
      }
      return findings
    case .keychain(let service, let group):
      return KeychainChecks.all() + KeychainChecks.former(name, service: service, accessGroup: group)
    case .memory: return [.ok(name, "ends with the command")]
    case .encrypted(let base): return await StoreChecks(location: base, sources: sources).all()
    case .other("postgresql", let address):
      return await opened() + PostgreSQLChecks(store: name, address: address).all()
    case .other: return await opened()
    case .sqlite(let path): return await check(path) { try await sqlite(path) }
    case .files(let directory):
      return await check(directory, values: directory, control: parts(of: directory + "/.coffer")) {
        try await files(directory)
      }
    case .preferences(let suite): return await preferences(suite)
    case .sealed(let path):
      return await check(path, control: parts(of: path + ".coffer")) {
        try await sealed(path)
      }
    }
  }

  private var name: String { location.description }

  private var isNew: Finding { .ok(name, "does not exist yet; the first write creates it") }

  /// Checks the directories of a store, then calls `look` for the store itself unless it can neither exist nor be
  /// created. There are no findings for directories without problems.
  /// - Parameters:
  ///   - path: The path of the store.
  ///   - values: The directory whose files a write replaces, by default the parent of `path`. If it is not writable,
  ///     the store can still be read.
  ///   - control: The directories that a writer uses. The first contains the others, and is created if it is missing.
  private func check(
    _ path: String, values: String? = nil, control: [String] = [], _ look: () async throws -> [Finding]
  ) async -> [Finding] {
    let path = URL(fileURLWithPath: path).path
    func obstacles(to paths: [String]) -> [Finding] {
      Array(
        paths.map { SystemChecks.usable(name, URL(fileURLWithPath: $0).path) }.filter { $0.verdict != .ok }.prefix(1))
    }
    let accessCheck = AccessCheck(name, at: path, control: control.first)
    let barred = accessCheck.all()
    if geteuid() != 0, accessCheck.isBarred { return barred }
    do {
      guard try PathParts.exists(path) else {
        let found = obstacles(to: [PathParts(path).parent])
        guard !found.contains(where: { $0.verdict == .problem }) else { return found }
        // A store without its file can still be read; it then has no values.
        let isLeft = try control.first.map { try PathParts.exists($0) } ?? false
        return found + (isLeft ? obstacles(to: control).map(\.asWarning) : []) + (try await look())
      }
      let limits = obstacles(to: [values ?? PathParts(path).parent]).map(\.asWarning)
      // A directory is a store of files once it contains the control directory.
      let isStore = values == nil || control.first.map { (try? PathParts.exists($0)) ?? false } ?? true
      let rights = obstacles(to: control)
      let canRead = isStore && control.allSatisfy { access($0, R_OK | X_OK) == 0 || errno == ENOENT }
      return barred + limits + (canRead ? rights.map(\.asWarning) : rights) + (try await look())
    } catch {
      return barred + [.problem(name, error)]
    }
  }

  private func kind(of path: String) throws -> mode_t? {
    guard try PathParts.exists(path) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError.fileSystem("stat", path: path, errno: errno) }
    return status.st_mode & S_IFMT
  }

  /// Returns the control directory of a slot store, and those of its subdirectories that exist.
  private func parts(of control: String) -> [String] {
    [control]
      + ["owners", "staged", "retained", "quarantine"].map { control + "/" + $0 }
      .filter { access($0, F_OK) == 0 || errno != ENOENT }
  }

  /// The contents of the journal of a slot store that are checked.
  private struct JournalFacts {
    let count: Int?
    let loss: LossReport?
    /// The findings about the encryption of the store, whose key ring is in the journal.
    let encryption: [Finding]
    /// Whether there is no key ring, and values that need one.
    let hasLostRing: Bool
  }

  /// Returns the contents of the journal of a store, or `nil` if there is no journal; an empty file is none.
  ///
  /// A copy is opened, since SQLite and the engine perform recovery in what they open.
  /// - Parameter envelopes: returns the envelopes of the store, if the journal has no key ring.
  private func journal(in control: String, _ envelopes: () throws -> FoundEnvelopes?) async throws -> JournalFacts? {
    guard let stamp = try Directory(ifAny: control, location: name).stamp("journal.db"), stamp.size > 0 else {
      try SlotControl(readOnly: control, name: name).requireNoLostAttributes()
      return nil
    }
    try StoreFile.checkNames(at: control + "/journal.db", location: name)
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
    var configuration = SQLiteEngine.Configuration.slotJournal(named: name)
    configuration.createsIfMissing = false
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    return try await closing(engine) { engine in
      var encryption: [Finding] = []
      do { encryption = try await sources.findings(for: name, in: engine) } catch {
        encryption = [.problem(name, error)]
      }
      return JournalFacts(
        count: try? await Listing(engine, of: StoreEntry.Summary.self).count().all, loss: try await engine.loss(),
        encryption: encryption,
        hasLostRing: encryption.isEmpty ? try await envelopes()?.areLost(by: engine) ?? false : false)
    }
  }

  /// Copies the files of the journal in one consistent state, retrying up to 50 times while another process writes.
  private func copyJournal(in control: String, to folder: String) async throws {
    // The wake-up file comes first: the commits that it announces must be in the files copied after it. A reader, who
    // may have no right to read it, does without it.
    let files = ["/journal.db-wake", "/journal.db", "/journal.db-wal"]
    func stamps() throws -> [FileStamp?] {
      let directory = try Directory(control, location: name)
      return try files.map { try directory.stamp(String($0.dropFirst())) }
    }
    for _ in 0..<50 {
      let before = try stamps().dropFirst()
      for (file, stamp) in zip(files, try stamps()) {
        try? FileManager.default.removeItem(atPath: folder + file)
        guard stamp != nil, !file.hasSuffix("-wake") || access(control + file, R_OK) == 0 else { continue }
        try FileManager.default.copyItem(atPath: control + file, toPath: folder + file)
      }
      if try stamps().dropFirst() == before { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw StorageError(
      .busy, "The journal changed during every attempt to copy it, so it was not checked.", advice: "Try again later.",
      location: name)
  }

  /// Returns the finding for commits that are lost and not yet accepted as lost.
  private func lost(_ loss: LossReport?) -> [Finding] {
    guard let loss else { return [] }
    let fix = "Restore a backup, or accept the loss: coffer verify --accept-loss --store \(name.quotedForShell)"
    return [loss.includesDurable ? .problem(name, loss.message, fix: fix) : .warning(name, loss.message, fix: fix)]
  }

  // MARK: Values

  /// The properties of an open store that are checked.
  private struct Contents: Sendable {
    let count: (all: Int, skipped: Int)
    let obstacle: StorageError?
    let loss: LossReport?
    let log: LogStatus?
    let encryption: EncryptionFacts?

    init(_ engine: any StorageEngine) async throws {
      encryption = try await EncryptionFacts(engine)
      count = try await Listing(engine, of: StoreEntry.self).count()  // Reads every value.
      let database = engine.as(SQLiteEngine.self)
      obstacle = database?.obstacleToWriting
      loss = try await database?.loss()
      log = try database?.logStatus()
    }
  }

  /// Checks a store of an unknown kind by opening it.
  private func opened() async -> [Finding] {
    do {
      guard try location.exists() else { return [isNew] }
      let found = try await withStore(at: location, sources, for: .inspection) { try await Contents($0) }
      return [found.count.skipped == 0 ? .ok(name, counted(found.count.all, "key")) : unreadable(found.count)]
    } catch {
      return [.problem(name, error)]
    }
  }

  private func sqlite(_ path: String) async throws -> [Finding] {
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard let kind = try kind(of: path) else {
      try StoreFile.checkNames(at: file, location: name)
      return [isNew]
    }
    guard try kind != S_IFDIR || PathParts.exists(path + "/.coffer/journal.db") else {
      return [
        .problem(
          name, "The path is a directory; an SQLite store is a file.",
          fix: "Give the path of a file, or file:\(path.quotedForShell) for a file per key.")
      ]
    }
    let found: Contents
    do {
      found = try await withStore(at: location, sources, for: .inspection) { try await Contents($0) }
    } catch let error as CommandError where error.status == .notFound {
      return [isNew]  // An empty file.
    }
    let limits = found.obstacle.map { [Finding.warning(name, $0.message, fix: "To write: \($0.advice)")] } ?? []
    let encryption = found.encryption.map { EncryptionChecks(store: name, facts: $0).all() } ?? []
    guard found.count.skipped == 0 else {
      return limits + encryption + [unreadable(found.count)]
    }
    return limits + [.ok(name, counted(found.count.all, "key"))] + encryption + lost(found.loss)
      + LogCheck(store: name, log: found.log).all()
  }

  private func unreadable(_ count: (all: Int, skipped: Int)) -> Finding {
    .problem(
      name, "\(counted(count.skipped, "value")) of \(grouped(count.all)) cannot be read.",
      fix: "coffer verify --store \(name.quotedForShell)")
  }

  private func files(_ directory: String) async throws -> [Finding] {
    guard let kind = try kind(of: directory) else { return [isNew] }
    guard kind == S_IFDIR else {
      let quoted = directory.quotedForShell
      return [
        .problem(
          name, "\(directory) is not a directory, and a store of files is one.",
          fix: "For a database file: --store \(quoted). Else: mv \(quoted) \(quoted).old")
      ]
    }
    let envelopes = { try FoundEnvelopes(files: directory, location: name) }
    guard let journal = try await journal(in: directory + "/.coffer", envelopes) else {
      guard try envelopes().isEmpty else { return [lostRing] }
      guard try PathParts.exists(directory + "/.coffer") else {
        let found = try ForeignFiles.recognize(in: directory, location: name)
        return [found.map(foreign) ?? .ok(name, "a directory; the first write makes it a store")]
      }
      return [
        .warning(
          name, "The journal of the store is missing; its revisions start again.",
          fix: "coffer ls --store \(name.quotedForShell) rebuilds it from the files.")
      ]
    }
    return [journal.hasLostRing ? lostRing : .ok(name, journal.count.map { counted($0, "key") } ?? "a store")]
      + journal.encryption + lost(journal.loss) + problem { try FileLinks.check(directory, location: name) }
      + RetainedCheck(store: name, control: directory + "/.coffer").all()
  }

  /// The finding for encrypted values whose key ring is missing.
  private var lostRing: Finding { .problem(name, StorageError.ringIsLost(location: name)) }

  /// Returns the finding for data of another origin, which no command uses unasked.
  private func foreign(_ data: ForeignData) -> Finding {
    .problem(name, StorageError.foreign(data).advisingCommands)
  }

  private func preferences(_ suite: String) async -> [Finding] {
    do {
      let (path, control) = try PreferencesInspection.paths(of: suite)
      return await check(path, control: parts(of: control)) {
        try await preferences(path, control)
      }
    } catch {
      return [.problem(name, error)]
    }
  }

  private func preferences(_ path: String, _ control: String) async throws -> [Finding] {
    let quoted = path.quotedForShell
    guard try kind(of: path) != S_IFDIR else {
      let message = "\(path) is a directory, but a file is required there."
      return [.problem(name, message, fix: "mv \(quoted) \(quoted).old")]
    }
    if let found = try ForeignPreferences.recognize(at: path, control: control, location: name) {
      return [foreign(found)]
    }
    let journal = try await journal(in: control) { try? FoundEnvelopes(preferences: path) }
    let loss = lost(journal?.loss) + (journal?.encryption ?? []) + problem { try HardLinks.refuseReplaced(path) }
    do {
      guard let count = try PreferencesInspection.inspect(path) else { return [isNew] + loss }
      let isLost = journal?.hasLostRing ?? !count.sealed.isEmpty
      return [isLost ? lostRing : .ok(name, counted(count.all, "key"))] + loss
        + RetainedCheck(store: name, control: control).all()
    } catch let error as StorageError where error.code == .damaged {
      let copy = control + "/copy"
      let hasCopy = (try? PreferencesInspection.inspect(copy)) ?? nil != nil
      let fix =
        hasCopy
        ? "Use the store, which serves the last copy that Coffer wrote, or: "
          + "mv \(quoted) \(quoted).damaged; cp \(copy.quotedForShell) \(quoted)"
        : "Restore a backup, or start with no preferences: mv \(quoted) \(quoted).old"
      let message = "\(path) is damaged: it is not a property list of names and values."
      return [hasCopy ? .warning(name, message, fix: fix) : .problem(name, message, fix: fix)]
    }
  }

  /// Returns the error of a check as a problem, or nothing.
  private func problem(_ check: () throws -> Void) -> [Finding] {
    do { try check() } catch { return [.problem(name, error)] }
    return []
  }

  // MARK: Secrets

  /// Checks a sealed file without a prompt: if no passphrase is given, only the header is read.
  private func sealed(_ path: String) async throws -> [Finding] {
    let control = path + ".coffer"
    var status = stat()
    guard try kind(of: path) != nil, stat(path, &status) == 0 else {
      let hasRemains = try ["/journal.db", "/copy"].contains { try PathParts.exists(control + $0) }
      guard hasRemains else { return [isNew] }
      return [
        .problem(
          name, "The sealed file is gone, though its journal is still there.",
          fix: "\(restoring(path)); or, to start with an empty store: rm -r \(control.quotedForShell)")
      ]
    }
    var findings = problem { try HardLinks.refuseReplaced(path) }
    if status.st_mode & 0o077 != 0 {
      findings.append(
        .warning(name, "Other users may read or write the sealed file.", fix: "chmod 600 \(path.quotedForShell)"))
    }
    let isUsable = passphrases.areGiven
    let loss = lost(try await journal(in: control) { nil }?.loss)
    do {
      let source = isUsable ? try passphrases.source(for: path) : nil
      let count = try await SealedInspection.inspect(URL(fileURLWithPath: path).path, passphrase: source)
      findings += loss
      findings.append(.ok(name, count.map { counted($0, "key") } ?? "sealed; no passphrase was given to open it"))
      findings += RetainedCheck(store: name, control: control).all()
    } catch let error as StorageError where error.code == .damaged {
      let serves = isUsable ? try? await copyCount(path) : nil
      let fix =
        serves == nil ? restoring(path) : "Use the store, which serves the last copy. \(restoring(path))."
      findings.append(serves == nil ? .problem(name, error.message, fix: fix) : .warning(name, error.message, fix: fix))
    } catch {
      findings.append(.problem(name, error))
    }
    return findings
  }

  /// Returns the number of values in the copy that replaces a damaged file, or `nil` if there is no copy.
  private func copyCount(_ path: String) async throws -> Int? {
    let copy = URL(fileURLWithPath: path).path + ".coffer/copy"
    return try await SealedInspection.inspect(copy, passphrase: try passphrases.source(for: path))
  }

  /// Returns the advice for restoring a sealed file, without a full stop.
  private func restoring(_ path: String) -> String {
    let copy = path + ".coffer/copy"
    guard access(copy, F_OK) == 0 else { return "Restore it from a backup" }
    let quoted = path.quotedForShell
    // A damaged file is kept: the copy may be older.
    let keeping = access(path, F_OK) == 0 ? "mv \(quoted) \(quoted).damaged; " : ""
    return "Restore it from a backup, or from the last copy: \(keeping)cp \(copy.quotedForShell) \(quoted)"
  }

  private func chain() async -> (finding: Finding, taken: Int?) {
    do {
      guard let chain = try location.secretChain(passphrases.options(creating: false)) else {
        return (.ok("chain", "no stores"), nil)
      }
      let choice = try await chain.choose()
      return (.ok("chain", "\(choice.link) is selected: \(choice.reason)"), choice.index)
    } catch {
      return (.problem("chain", error), nil)
    }
  }
}
