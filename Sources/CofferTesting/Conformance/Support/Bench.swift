import CofferCore
import Foundation

/// The store of one check and the handles that are open on it.
final class Bench: Sendable {
  private struct State {
    var opened: [any StorageEngine] = []
  }

  private let conformance: StorageConformance
  private let check: StorageConformance.Check
  private let state = Locked(State())

  let location: StorageConformance.Location
  /// The origin of the first handle.
  let origin = StoreOrigin()

  var options: StorageConformance.Options { conformance.options }

  init(_ conformance: StorageConformance, check: StorageConformance.Check) {
    self.conformance = conformance
    self.check = check
    let id = UUID()
    location = StorageConformance.Location(
      id: id,
      directory: conformance.options.temporaryDirectory.appendingPathComponent("coffer-conformance-\(id.uuidString)"),
      maximumValueSize: check.maximumValueSize)
  }

  func makeDirectory() throws {
    try FileManager.default.createDirectory(at: location.directory, withIntermediateDirectories: true)
  }

  func removeDirectory() { try? FileManager.default.removeItem(at: location.directory) }

  /// Opens the store, runs the check if it applies, and closes every handle.
  func run() async throws {
    let result: Result<Void, any Error>
    do {
      let capabilities = try await open().capabilities
      if let reason = check.reasonToSkip(capabilities) { throw Skip(reason: reason) }
      result = .success(try await check.body(self))
    } catch {
      result = .failure(error)
    }
    for engine in state.withLock({ $0.opened }) { try? await engine.close() }
    try result.get()
  }

  /// The revision of a new store.
  var initialRevision: StoreRevision { StoreRevision(UInt64(options.commitsAtCreation)) }

  /// The engine of the first open handle.
  var engine: any StorageEngine {
    get throws {
      guard let engine = state.withLock({ $0.opened.first }) else {
        throw Unmet(sentence: "Expected a store to be open.", file: #fileID, line: #line)
      }
      return engine
    }
  }

  /// Returns a second handle on the store of ``engine``.
  func secondHandle() async throws -> (engine: any StorageEngine, origin: StoreOrigin) {
    switch options.handles {
    case .shareEngine: (try engine, StoreOrigin())
    case .openAgain: (try await open(), StoreOrigin())
    }
  }

  /// Closes every handle and opens the store again.
  func reopen() async throws -> any StorageEngine {
    try await closeAll()
    return try await open()
  }

  /// Closes every handle.
  func closeAll() async throws {
    let opened = state.withLock { state in
      defer { state.opened.removeAll() }
      return state.opened
    }
    for engine in opened { try await engine.close() }
  }

  /// Creates an adapter over the same store, or skips the check if the subject is an engine.
  func adapter() async throws -> any StorageAdapter {
    guard let makeAdapter = conformance.makeAdapter else { throw Skip(reason: "The subject is an engine.") }
    return try await makeAdapter(location)
  }

  private func open() async throws -> any StorageEngine {
    let engine = try await conformance.open(location)
    state.withLock { $0.opened.append(engine) }
    return engine
  }
}

extension Bench {
  /// Commits a batch through the first handle. It is relaxed by default, so that bulk writes do not wait for the disk.
  @discardableResult
  func commit(
    _ operations: WriteBatch.Operation..., transaction: TransactionID? = nil, durability: StoreDurability = .relaxed
  ) async throws -> StoreCommit {
    try await engine.commit(
      WriteBatch(operations, transaction: transaction, durability: durability), from: origin)
  }

  /// Commits `count` single puts to the same key and returns the commits.
  func commitMany(_ count: Int, key: String = "k") async throws -> [StoreCommit] {
    var commits: [StoreCommit] = []
    for number in 0..<count { commits.append(try await commit(.put(KeyName(key), Data("\(number)".utf8)))) }
    return commits
  }

  /// Subscribes to the changes of the first handle.
  func listen(since revision: StoreRevision? = nil) throws -> Listener<StoreChange> {
    let engine = try engine
    let stream = revision.map { engine.changes(since: $0) } ?? engine.changes(since: nil)
    return Listener(stream, deadline: options.deadline)
  }

  /// Returns every key of the store, in the order in which the engine lists them.
  func keys(prefix: KeyName? = nil) async throws -> [KeyName] {
    try await engine.withSnapshot { snapshot in try await snapshot.list(prefix: prefix, pageSize: 1_000).map(\.key) }
  }
}

extension StorageSnapshot {
  /// Reads page by page until an empty page. Throws ``Unmet`` for a page that is too long or does not advance.
  func list(
    prefix: KeyName? = nil, after: KeyName? = nil, pageSize: Int, file: String = #fileID, line: UInt = #line
  ) async throws -> [StoreEntry] {
    var entries: [StoreEntry] = []
    var last = after
    while true {
      let page = try await page(prefix: prefix, after: last, limit: pageSize)
      if page.isEmpty { return entries }
      if page.count > pageSize {
        throw Unmet(
          sentence: "Expected a page of up to \(pageSize) entries; got \(page.count).", file: file, line: line)
      }
      // Without this check, a store that returns the same page again would cause an endless loop.
      for entry in page {
        if let last, entry.key <= last {
          throw Unmet(
            sentence: "Expected keys in the order of their bytes; got \(shown(entry.key)) after \(shown(last)).",
            file: file, line: line)
        }
        last = entry.key
      }
      entries += page
    }
  }
}

/// Returns the UTF-8 bytes of a text.
func bytes(_ text: String) -> Data { Data(text.utf8) }
