import CofferCSQLite
import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation

/// Builds the stores that a sweep damages.
///
/// - `closed`: after a clean close.
/// - `killed`: as left by SIGKILL, with all later commits in the log.
/// - `restarted`: like `killed`, with a restarted log that has older commits after the newest.
/// - `committed`: a slot store whose writer was killed between a commit and the publication of its values.
/// - `open`: like `killed`, but damaged while a process has the store open.
final class SweepBuilder {
  private let kind: SweptKind
  private let root: String
  private var store: SweepStore
  private var histories: [SweepState.History] = []
  private var states: [SweepState] = []
  private let origin = StoreOrigin()
  /// A closure to run after the next commit, before its values are published.
  private let atCommit: Locked<(@Sendable () -> Void)?>

  private var live: String { root + "/live" }

  static func build(_ kind: SweptKind, in root: String) async throws {
    let builder = try await SweepBuilder(kind, in: root)
    try await builder.build()
  }

  private init(_ kind: SweptKind, in root: String) async throws {
    self.kind = kind
    self.root = root
    let atCommit = Locked<(@Sendable () -> Void)?>(nil)
    self.atCommit = atCommit
    guard mkdir(root + "/live", 0o700) == 0 else { throw Usage() }
    store = try await Self.open(kind, root, atCommit)
  }

  private static func open(
    _ kind: SweptKind, _ root: String, _ atCommit: Locked<(@Sendable () -> Void)?>
  ) async throws -> SweepStore {
    try await kind.open(root + "/live") { if $0 == .committed { atCommit.withLock { $0 }?() } }
  }

  private static let keys: [String] =
    ["theme", "Settings/Language", FileScenario.longKey, "..", "a b/c", "emoji/😀", "é", "e\u{301}", "last/", "zz"]
    + (0..<20).map { "list/\($0)" }

  private func build() async throws {
    for start in stride(from: 0, to: Self.keys.count, by: 4) { try await put(Self.keys[start...].prefix(4)) }
    try await put(Self.keys.filter { $0.hasPrefix("list/1") }[...])
    try await store.engine.close()
    try capture("closed")
    store = try await Self.open(kind, root, atCommit)
    for key in Self.keys.enumerated().filter({ $0.offset % 3 == 0 }).map(\.element) { try await put([key]) }
    try await remove(["list/3", "..", FileScenario.longKey])
    if kind != .naked { try await putExpired(["list/5", "emoji/😀", "zz"]) }
    try await put([FileScenario.longKey])
    try capture("killed")
    add("open", files: "killed", isOpen: true)
    if kind == .sqlite {
      try restartLog()
      for key in Self.keys.prefix(6) { try await put([key]) }
      try capture("restarted")
    } else if kind != .naked {
      try await captureCommitted()
    }
    try await store.engine.close()
    try FileManager.default.removeItem(atPath: live)
    try SweepTemplate(at: root, states: states).write()
  }

  // MARK: Commits

  private func put(_ keys: ArraySlice<String>) async throws {
    var batch = WriteBatch()
    for key in keys {
      let version = note(key) { ($0.compactMap { $0 }.max() ?? -1) + 1 } ?? 0
      batch.put(
        try KeyName(key), SweepValue.bytes(key, version, largest: kind.largestValue),
        ValueAttributes(expires: expiry(of: key).map { Date(unixMilliseconds: $0) }))
    }
    try await commit(batch)
  }

  /// The expiry of a key's values, in a distant future.
  private func expiry(of key: String) -> Int64? { kind != .naked && key.hasPrefix("list/1") ? 4_000_000_000_123 : nil }

  /// Stores values that have just expired: they are absent, and stored until they are swept.
  private func putExpired(_ keys: [String]) async throws {
    var batch = WriteBatch()
    for key in keys {
      let version = note(key) { ($0.compactMap { $0 }.max() ?? -1) + 1 } ?? 0
      _ = note(key) { _ in nil }
      if let index = histories.firstIndex(where: { $0.key == key }) { histories[index].expired = version }
      batch.put(
        try KeyName(key), SweepValue.bytes(key, version, largest: kind.largestValue),
        ValueAttributes(expires: Date() - 1))
    }
    try await commit(batch)
  }

  /// Commits a batch, or its operations one by one if the store has no batches.
  private func commit(_ batch: WriteBatch) async throws {
    guard kind == .naked else {
      _ = try await store.engine.commit(batch, from: origin)
      return
    }
    for operation in batch.operations { try await store.engine.commit(WriteBatch([operation]), from: origin) }
  }

  private func remove(_ keys: [String]) async throws {
    var batch = WriteBatch()
    for key in keys {
      _ = note(key) { _ in nil }
      batch.delete(try KeyName(key))
    }
    try await commit(batch)
  }

  private func note(_ key: String, _ version: ([Int?]) -> Int?) -> Int? {
    let known = histories.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
    let index = known ?? histories.endIndex
    if known == nil { histories.append(SweepState.History(key, expires: expiry(of: key))) }
    let version = version(histories[index].versions)
    histories[index].versions.append(version)
    return version
  }

  // MARK: States

  private func add(
    _ name: String, files: String, isOpen: Bool = false, revision: UInt64? = nil, unanswered: [String] = []
  ) {
    states.append(
      SweepState(
        name, files: files, isOpen: isOpen, revision: revision ?? store.engine.latestRevision.rawValue,
        histories: histories, unanswered: unanswered))
  }

  private func capture(_ name: String) throws {
    add(name, files: name)
    try SweepFiles.capture(live, in: root + "/" + name)
  }

  /// Captures the files after a batch is committed and before its values are published. The next open rolls the batch
  /// forward, so the batch is effective unless the log is lost.
  private func captureCommitted() async throws {
    let (live, target) = (live, root + "/committed")
    let failure = Locked<String?>("the step was not reached")
    atCommit.withLock {
      $0 = {
        let result = Result { try SweepFiles.capture(live, in: target) }
        failure.withLock { if case .failure(let error) = result { $0 = "\(error)" } else { $0 = nil } }
      }
    }
    let before = store.engine.latestRevision.rawValue
    let keys = ["theme", "list/3", FileScenario.longKey, "zz"]
    try await put(keys[...])
    if let failure = failure.withLock({ $0 }) { throw TestFailure(failure) }
    atCommit.withLock { $0 = nil }
    add("committed", files: "committed", revision: before + 1, unanswered: keys)
  }

  /// Makes the next commit restart the log, overwriting its beginning.
  private func restartLog() throws {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open_v2(live + "/store.db", &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
      sqlite3_exec(handle, "PRAGMA wal_checkpoint(RESTART)", nil, nil, nil) == SQLITE_OK
    else { throw TestFailure("the log could not be restarted") }
  }
}
