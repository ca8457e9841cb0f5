import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import Foundation

/// A kind of store that a sweep tests.
enum SweptKind: String {
  case sqlite, files, preferences, sealed
  /// Files without any check, which a sweep must find faulty.
  case naked

  /// The largest value in bytes; small for single-file stores, which write the whole file for each batch.
  var largestValue: Int {
    switch self {
    case .sqlite, .files, .naked: 20_000
    case .preferences, .sealed: 1_000
    }
  }

  /// Opens the store in a directory.
  func open(_ directory: String, atStep: (@Sendable (SlotStep) -> Void)? = nil) async throws -> SweepStore {
    var configuration = SlotEngine.Configuration()
    configuration.atStep = atStep
    return SweepStore(engine: try await openEngine(directory, configuration))
  }

  private func openEngine(_ directory: String, _ configuration: SlotEngine.Configuration) async throws
    -> any StorageEngine
  {
    switch self {
    case .naked: return AdapterEngine(NakedFiles(directory))
    case .sqlite: return try await SQLiteEngine.open(at: directory + "/store.db")
    case .files:
      return try await SlotEngine.files(in: URL(fileURLWithPath: directory), configuration: configuration)
    case .preferences:
      let system = SystemDirectories(bundleIdentifier: nil, processName: "sweep") { name in
        name == "XDG_CONFIG_HOME" ? directory : nil
      }
      return try await SystemDirectories.$current.withValue(system) {
        try await SlotEngine.preferences(suite: Self.suite, configuration: configuration)
      }
    case .sealed:
      return try await SlotEngine.sealed(
        at: URL(fileURLWithPath: directory + "/secrets.sealed"), passphrase: .provided { Data("correct horse".utf8) },
        configuration: configuration, cost: ScryptCost(logN: 10, r: 1, p: 1))
    }
  }

  private static let suite = "sweep"

  func injury(_ mutation: SweepMutation, _ state: SweepState) throws -> SweepInjury {
    SweepInjury(removed: try removed(mutation, state), isOfLog: mutation.file.hasSuffix(".db-wal"))
  }

  private func removed(_ mutation: SweepMutation, _ state: SweepState) throws -> String? {
    guard mutation.kind == .gone else { return nil }
    switch self {
    // Without its database, a store of SQLite is a new one, unless its log holds commits.
    case .sqlite: return mutation.file == "store.db" ? "" : nil
    case .sealed, .naked: return nil
    case .preferences: return mutation.file == Self.suite + ".plist" ? "" : nil
    case .files: return try state.histories.map(\.key).first { try FileName(KeyName($0)).string == mutation.file }
    }
  }
}

/// An adapter with one file per key and no checks.
private actor NakedFiles: StorageAdapter {
  private let directory: String

  init(_ directory: String) { self.directory = directory }

  private func url(_ key: String) -> URL {
    let name = sha256(Data(key.utf8)).map { String($0, radix: 16) }.joined()
    return URL(fileURLWithPath: directory + "/" + name)
  }

  func read(key: String) throws -> Data? { exists(key: key) ? try Data(contentsOf: url(key)) : nil }
  func write(key: String, data: Data) throws { try data.write(to: url(key), options: .atomic) }
  func delete(key: String) throws { if exists(key: key) { try FileManager.default.removeItem(at: url(key)) } }
  func exists(key: String) -> Bool { FileManager.default.fileExists(atPath: url(key).path) }
}

/// An open store.
struct SweepStore {
  let engine: any StorageEngine

  /// Reads all keys, listings and reports of the store.
  func observe(_ state: SweepState) async -> SweepObservation {
    var observation = SweepObservation()
    for key in state.histories.map(\.key) + SweepState.neverWritten {
      observation.entries.append((key, await answer(key)))
    }
    await list(&observation)
    observation.entries += await unlisted(state)
    do { observation.findings = try await structure() } catch { observation.findings = ["\(error)"] }
    observation.findings += observation.listed.compactMap { if case .refused(let why) = $0.answer { why } else { nil } }
    // A reader that is opened after the database was removed says so; another may still be open.
    observation.findings += observation.entries.compactMap {
      if case .refused(let why) = $0.answer, why.contains("was moved, deleted or replaced") { why } else { nil }
    }
    if observation.listingFailed { observation.findings.append("the listing has failed") }
    // A store whose database was removed is a new one.
    let isNew = engine is SQLiteEngine && engine.latestRevision == .zero
    observation.hasEdits = isNew || engine.latestRevision.rawValue > state.revision
    if let engine = engine as? SQLiteEngine, let loss = try? await engine.loss() { observation.toldLoss = loss.message }
    if let journal = (engine as? SlotEngine)?.journal, (try? await journal.loss()) != nil {
      observation.hasLostRecords = true
    }
    if let engine = engine as? SlotEngine, let report = try? await engine.recoveryReport() {
      if report.wasRebuilt { observation.hasLostRecords = true }
      if report.edited > 0 { observation.hasEdits = true }
      observation.lost = report.lost.map(\.string)
      if report.wasRebuilt || report.quarantined > 0 { observation.toldLoss = "\(report)" }
    }
    return observation
  }

  /// Returns the observation of a store that cannot be opened.
  static func observation(_ state: SweepState, of error: any Error) -> SweepObservation {
    var observation = SweepObservation()
    let isAbsence = (error as? StorageError)?.code == .notFound
    observation.entries = state.histories.map { ($0.key, isAbsence ? .absent : .refused("\(error)")) }
    observation.listingFailed = true
    observation.findings = ["\(error)"]
    return observation
  }

  private func answer(_ key: String) async -> SweepAnswer {
    do { return try await engine.entry(KeyName(key)).map(SweepAnswer.init) ?? .absent } catch {
      return .refused("\(error)")
    }
  }

  /// Returns the keys that are absent according to their summaries; an error says nothing about a key.
  private func unlisted(_ state: SweepState) async -> [(key: String, answer: SweepAnswer)] {
    let listed = (try? await engine.summaries()).map { Set($0.map(\.key)) }
    var absent: [(key: String, answer: SweepAnswer)] = []
    for name in state.histories.map(\.key) {
      guard let key = try? KeyName(name) else { continue }
      if (try? await engine.contains(key)) == false { absent.append((name, .absent)) }
      if listed?.contains(key) == false { absent.append((name, .absent)) }
    }
    return absent
  }

  /// Lists the store page by page, past damaged entries, as the command does.
  private func list(_ observation: inout SweepObservation) async {
    var last: KeyName?
    do {
      while true {
        let items = try await items(after: last)
        guard let end = items.last else { return }
        observation.listed += items.map { ($0.key.string, $0.answer) }
        last = end.key
      }
    } catch {
      observation.listingFailed = true
    }
  }

  private func items(after last: KeyName?) async throws -> [(key: KeyName, answer: SweepAnswer)] {
    for limit in [16, 1] {
      do {
        return try await page(after: last, limit: limit).map { ($0.key, SweepAnswer($0)) }
      } catch let error as StorageError where limit == 1 {
        guard let key = error.key, last.map({ key > $0 }) ?? true else { throw error }
        return [(key, .refused("\(error)"))]
      } catch is StorageError {}  // One damaged value fails the whole page.
    }
    return []
  }

  private func page(after last: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await engine.withSnapshot { try await $0.page(prefix: nil, after: last, limit: limit) }
  }

  /// Returns the structural errors that SQLite finds in the database file.
  private func structure() async throws -> [String] {
    guard let engine = engine as? SQLiteEngine ?? (engine as? SlotEngine)?.journal else { return [] }
    return try await SQLiteDatabase(engine: engine).read { transaction in
      try transaction.query("PRAGMA quick_check(100)") { $0.text(0) }.filter { $0 != "ok" }
    }
  }
}

extension SweepAnswer {
  init(_ entry: StoreEntry) {
    self = .value(entry.value, expires: entry.attributes.expires?.unixMilliseconds)
  }
}
