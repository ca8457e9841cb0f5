import Coffer
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTerminal
import Foundation

/// The checks of one store: its location, its files and whether it opens.
///
/// A store with a control directory is opened for reading only, so that no recovery changes it.
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
      return await findings { try await opened() } + PostgreSQLChecks(store: name, address: address).all()
    case .other: return await findings { try await opened() }
    case .sqlite(let path): return await check(path) { try await sqlite(path) }
    case .files(let directory):
      return await slots(directory, values: directory, control: directory + "/.coffer") {
        try FileLinks.check(directory, location: name)
      }
    case .preferences(let suite):
      do {
        let (path, control) = try PreferencesInspection.paths(of: suite)
        return await slots(path, control: control) { try HardLinks.refuseReplaced(path) }
      } catch {
        return [.problem(name, error)]
      }
    case .sealed(let path): return await check(path, control: parts(of: path + ".coffer")) { try await sealed(path) }
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

  /// Returns the finding for commits that are lost and not yet accepted as lost.
  private func lost(_ loss: LossReport?) -> [Finding] {
    guard let loss else { return [] }
    let fix = "Restore a backup, or accept the loss: coffer verify --accept-loss --store \(name.quotedForShell)"
    return [loss.includesDurable ? .problem(name, loss.message, fix: fix) : .warning(name, loss.message, fix: fix)]
  }

  // MARK: Values

  /// The properties of an open store that are checked.
  private struct Contents: Sendable {
    var values = 0
    var unreadable = 0
    /// The error of a value that needs a key ring, which the store does not have.
    var lostRing: StorageError?
    let obstacle: StorageError?
    let loss: LossReport?
    let log: LogStatus?
    let encryption: EncryptionFacts?
    /// What is damaged besides the values, in sentences.
    let problems: [String]
    let hasJournal: Bool

    init(_ engine: any StorageEngine) async throws {
      encryption = try await EncryptionFacts(engine)
      let (database, slots) = (engine.as(SQLiteEngine.self), engine.as(SlotEngine.self))
      obstacle = database?.obstacleToWriting
      loss = try await engine.database?.loss()
      log = try database?.logStatus()
      problems = try await slots?.problems() ?? []
      hasJournal = slots.map { $0.journal != nil } ?? true
      try await Listing(engine, of: StoreEntry.self).visit { item in
        values += 1
        guard case .skipped(let skipped) = item else { return }
        switch skipped.error.code {
        case .unfinished: break  // The next opening finishes the commit.
        case .keyUnavailable where encryption == nil: lostRing = .ringIsLost(location: engine.description)
        default: unreadable += 1
        }
      }
    }
  }

  private func findings(_ look: () async throws -> [Finding]) async -> [Finding] {
    do { return try await look() } catch { return [.problem(name, error)] }
  }

  /// Opens the store, reads every value, and returns what it finds.
  private func opened(_ access: StoreAccess = .readWriteOrReadOnly) async throws -> [Finding] {
    let found: Contents
    do {
      found = try await withStore(at: location, sources, access: access, for: .inspection) { try await Contents($0) }
    } catch let error as CommandError where error.status == .notFound {
      return [isNew]
    }
    if let error = found.lostRing { return [.problem(name, error)] }
    var findings = found.obstacle.map { [Finding.warning(name, $0.message, fix: "To write: \($0.advice)")] } ?? []
    findings += found.problems.map { problem in
      .warning(name, problem, fix: "Use the store, which serves the last copy that Coffer wrote, or restore a backup.")
    }
    if found.unreadable > 0 {
      let message = "\(counted(found.unreadable, "value")) of \(grouped(found.values)) cannot be read."
      findings.append(.problem(name, message, fix: "coffer verify --store \(name.quotedForShell)"))
    } else {
      findings.append(.ok(name, counted(found.values, "key")))
    }
    if !found.hasJournal, case .files = location {
      findings.append(
        .warning(
          name, "The journal of the store is missing; its revisions start again.",
          fix: "coffer ls --store \(name.quotedForShell) rebuilds it from the files."))
    }
    return findings + (found.encryption.map { EncryptionChecks(store: name, facts: $0).all() } ?? [])
      + lost(found.loss) + LogCheck(store: name, log: found.log).all()
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
    return try await opened()
  }

  /// Checks a store with a control directory.
  /// - Parameter links: throws if a file of the store has another name that would be left behind.
  private func slots(
    _ path: String, values: String? = nil, control: String, _ links: () throws -> Void
  ) async -> [Finding] {
    await check(path, values: values, control: parts(of: control)) {
      guard try values != nil || kind(of: path) != S_IFDIR else {
        let (message, quoted) = ("\(path) is a directory, but a file is required there.", path.quotedForShell)
        return [.problem(name, message, fix: "mv \(quoted) \(quoted).old")]
      }
      var findings = await findings { try await opened(.readOnly) }
      do {
        try StoreFile.checkNames(at: control + "/journal.db", location: name)
        try links()
      } catch {
        findings.append(.problem(name, error))
      }
      return findings + RetainedCheck(store: name, control: control).all()
    }
  }

  /// Checks a sealed file without a prompt: if no passphrase is given, only its header is read.
  private func sealed(_ path: String) async throws -> [Finding] {
    let control = path + ".coffer"
    var status = stat()
    guard try kind(of: path) != nil, stat(path, &status) == 0 else {
      let remains = try ["/journal.db", "/copy"].map { control + $0 }.filter(PathParts.exists)
      guard !remains.isEmpty else { return [isNew] }
      return [
        .problem(
          name, "The sealed file is gone, though \(remains.joined(separator: " and ")) remain.",
          fix: "Restore it from a backup or the copy; or, to start with an empty store: rm -r \(control.quotedForShell)"
        )
      ]
    }
    var findings: [Finding] = []
    do { try HardLinks.refuseReplaced(path) } catch { findings.append(.problem(name, error)) }
    if status.st_mode & 0o077 != 0 {
      findings.append(
        .warning(name, "Other users may read or write the sealed file.", fix: "chmod 600 \(path.quotedForShell)"))
    }
    findings += await self.findings {
      if passphrases.areGiven { return try await opened(.readOnly) }
      _ = try await SealedInspection.inspect(URL(fileURLWithPath: path).path, passphrase: nil)
      return [.ok(name, "sealed; no passphrase was given to open it")]
    }
    return findings + RetainedCheck(store: name, control: control).all()
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
