import CofferCSQLite
import CofferCore
import Foundation

/// A restoration of a backup, which replaces a store.
struct Restoration {
  private let source: StoreFile
  private let target: StoreFile
  private let options: RestoreOptions
  private let work: BackupWork

  init(from backup: String, to path: String, options: RestoreOptions, work: BackupWork) throws {
    source = try StoreFile.ofBackup(backup)
    target = try StoreFile.forReplacing(path)
    self.options = options
    self.work = work
    guard FileIdentity(source.path) != FileIdentity(target.path) else {
      throw StorageError(
        .preconditionFailed, "The backup and the store are the same file.", advice: "Nothing was changed.",
        location: target.description)
    }
  }

  func run() throws -> RestoreReport {
    let file = try StagedFile(for: target.path, suffix: ".coffer-restore", location: target.description)
    defer { file.discard() }
    let content = try prepare(file)
    try work.checkCancellation()
    guard FileIdentity(target.path) != nil else {
      // A log left over from a missing database would corrupt the new one.
      try target.setLogAside(as: options.keepsReplaced ? target.nameForReplaced : nil)
      try file.publish(overwriting: false)
      options.atStep?(.placed)
      unlink(target.wakePath)
      target.removeWriteLogs()
      return report(content, replaced: nil)
    }
    if let old = try ReplacedStore(target) {
      return try replace(old, by: file, content)
    }
    guard options.takesOver else { throw isOpen }
    return try takeOver(file, content)
  }

  private func report(_ content: BackupCheck.Content, replaced: String?) -> RestoreReport {
    options.atStep?(.finished)
    return RestoreReport(
      path: target.path, revision: content.revision, values: content.values, valueBytes: content.valueBytes,
      replaced: replaced)
  }

  // MARK: The new state

  /// Copies the backup to the staged file, and upgrades, verifies and syncs it, with a new epoch and revision.
  private func prepare(_ file: StagedFile) throws -> BackupCheck.Content {
    let staged = StoreFile(path: file.temporaryPath, busyTimeout: 1, name: target.description)
    try PageCopy(source: source, target: staged, work: work).run()
    options.atStep?(.copied)
    let connection = try Connection(StoreFile(path: file.temporaryPath, busyTimeout: 1, name: source.description))
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
    try upgrade(connection)
    var content = try BackupCheck(connection: connection, work: work).run()
    content.revision = try History.renewEpoch(
      connection, beyond: newestNumber(), now: Date().unixMilliseconds)
    try connection.execute("PRAGMA journal_mode = DELETE")
    try file.sync()
    options.atStep?(.prepared)
    return content
  }

  private func upgrade(_ connection: Connection) throws {
    let hasMeta = try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_meta'") != nil
    let format = hasMeta ? try connection.number("SELECT value FROM coffer_meta WHERE name = 'format'") : nil
    guard let format, format < Schema.format else { return }
    try FormatUpgrade.run(connection)
  }

  /// Returns a revision greater than any that the store may assign before it is replaced.
  private func newestNumber() -> StoreRevision {
    let words = WakeWords(ofFileAt: target.wakePath)
    let found = try? Connection(target).number("SELECT max(revision) FROM coffer_journal")
    let journal = StoreRevision(UInt64(bitPattern: found.flatMap(\.self) ?? 0))
    let newest = [words?.announced, words?.durable, journal].compactMap(\.self).max() ?? .zero
    return newest == .zero ? .zero : StoreRevision(newest.rawValue + Self.margin)
  }

  /// The number of commits that others may make while the backup is prepared.
  private static let margin: UInt64 = 1_000_000

  // MARK: A store that is not open elsewhere

  private func replace(
    _ old: ReplacedStore, by file: StagedFile, _ content: BackupCheck.Content
  ) throws -> RestoreReport {
    options.atStep?(.locked)
    let kept = options.keepsReplaced ? target.nameForReplaced : nil
    try target.setLogAside(as: kept)
    options.atStep?(.kept)
    if let kept {
      try file.exchange(keepingReplacedAs: kept)
    } else {
      try file.publish(overwriting: true)
    }
    options.atStep?(.placed)
    // Both belong to the replaced file; new ones are created when the store is opened.
    for path in [target.wakePath, target.lockPath] { unlink(path) }
    target.removeWriteLogs()
    withExtendedLifetime(old) {}
    return report(content, replaced: kept)
  }

  // MARK: A store that is open

  /// Writes the new state into the open store in one SQLite transaction: open snapshots keep their state, and no file
  /// in use is replaced.
  private func takeOver(_ file: StagedFile, _ content: BackupCheck.Content) throws -> RestoreReport {
    let from = try Connection(StoreFile(path: file.temporaryPath, busyTimeout: 1, name: target.description))
    let into = try Connection(target)
    try into.execute("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
    guard from.isSealed == into.isSealed, from.pageSize == into.pageSize else { throw otherPages }
    let kept = options.keepsReplaced ? target.nameForReplaced : nil
    try PageCopy.copy(from, into, work) {
      // From here on no other connection can commit.
      options.atStep?(.locked)
      let newest = try Connection(target).number("SELECT max(revision) FROM coffer_journal") ?? 0
      guard UInt64(bitPattern: newest) < content.revision.rawValue else { throw isBusy }
      if let kept { try keep(as: kept) }
      options.atStep?(.kept)
    } progress: {
      work.report(.copying, $0, of: $1, from.pageSize)
    }
    options.atStep?(.placed)
    // Without this, open handles detect the replacement only at their next check, up to a second later.
    if let wake = try? WakeFile(target) {
      wake.raise(to: content.revision)
      wake.ring()
    }
    return report(content, replaced: kept)
  }

  /// Copies the state that is about to be replaced to `path`.
  private func keep(as path: String) throws {
    let staged = try StagedFile(for: path, suffix: ".coffer-backup", location: target.description)
    defer { staged.discard() }
    let file = StoreFile(path: staged.temporaryPath, busyTimeout: 1, name: target.description)
    try PageCopy(source: target, target: file, work: work).run()
    try staged.sync()
    try staged.publish(overwriting: false)
  }

  // MARK: Refusals

  private var isOpen: StorageError {
    StorageError(
      .busy, "The store is open: in this process or in another.",
      advice: "Close it everywhere and try again, or take it over. Nothing was changed.", location: target.description)
  }

  private var isBusy: StorageError {
    StorageError(
      .busy, "The store received too many commits during the restoration.", advice: "Try again. Nothing was changed.",
      location: target.description)
  }

  private var otherPages: StorageError {
    StorageError(
      .busy, "The store is open, and its page format differs from that of the backup.",
      advice: "Close it everywhere and try again. Nothing was changed.", location: target.description)
  }
}

extension StoreFile {
  /// Returns the canonical file of an existing backup.
  /// - Throws: `notFound` if there is none.
  static func ofBackup(_ path: String) throws -> StoreFile {
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    do {
      return try resolve(path, configuration: configuration, isForReading: true)
    } catch let error as StorageError where error.code == .notFound {
      throw StorageError(
        .notFound, "There is no backup at this path.", advice: "Check the path. Nothing was changed.",
        location: error.location, underlying: error.underlying)
    }
  }

  /// Returns the canonical file of a store that may be missing or damaged.
  fileprivate static func forReplacing(_ path: String) throws -> StoreFile {
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    do {
      return try resolve(path, configuration: configuration)
    } catch let error as StorageError where [.notFound, .damaged].contains(error.code) {
      // A missing or emptied database, or a log without its database, is a reason to restore a backup.
      let file = try BackupTarget(path)
      return StoreFile(path: file.path, busyTimeout: max(0, configuration.busyTimeout))
    }
  }

  /// The path at which the replaced store is kept: an unused name with the current date.
  fileprivate var nameForReplaced: String {
    var time = time_t(Date().timeIntervalSince1970)
    var parts = tm()
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 32)
    strftime(&text, text.count, "%Y%m%d-%H%M%S", &parts)
    let date = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var name = "\(path).replaced-\(date)"
    var number = 1
    while access(name, F_OK) == 0 || access(name + "-wal", F_OK) == 0 {
      number += 1
      name = "\(path).replaced-\(date)-\(number)"
    }
    return name
  }
}
