public import CofferCore
public import Foundation

extension StorageConformance {
  /// Tests an engine that is opened for reading only (`StoreAccess.readOnly`): everything can be read, every write is
  /// refused with `readOnly`, and nothing in the directory of the store changes, neither names nor bytes nor dates.
  ///
  /// ```swift
  /// try await conformance.runReadOnly { location in
  ///   try await MyEngine(directory: location.directory, access: .readOnly)
  /// }
  /// ```
  /// - Parameters:
  ///   - mayBeMissing: whether a store that does not exist is opened as an empty one; otherwise opening it must throw
  ///     `notFound`.
  ///   - files: returns the directory of the files of a store; by default, the location's.
  ///   - openReadOnly: opens the store at a location for reading only.
  /// - Throws: ``StorageConformance/Failure``; `CancellationError` if the task is cancelled.
  public func runReadOnly(
    mayBeMissing: Bool = false, files: @escaping @Sendable (Location) -> URL = { $0.directory },
    _ openReadOnly: @escaping @Sendable (Location) async throws -> any StorageEngine
  ) async throws {
    let subject = ReadOnlySubject(mayBeMissing: mayBeMissing, files: files, open: openReadOnly)
    try await run(Check("a store that is missing is not created by reading") { try await subject.checkMissing($0) })
    try await run(
      Check("a store that is open for reading only is read and not changed") { try await subject.check($0) })
  }
}

/// A store that a check opens for reading only.
private struct ReadOnlySubject: Sendable {
  let mayBeMissing: Bool
  let files: @Sendable (StorageConformance.Location) -> URL
  let open: @Sendable (StorageConformance.Location) async throws -> any StorageEngine

  func checkMissing(_ bench: Bench) async throws {
    let id = UUID()
    let missing = StorageConformance.Location(
      id: id, directory: bench.options.temporaryDirectory.appendingPathComponent("coffer-missing-\(id.uuidString)"),
      maximumValueSize: nil)
    try FileManager.default.createDirectory(at: missing.directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: missing.directory) }
    let before = try DirectoryContents(of: files(missing))
    if mayBeMissing {
      let engine = try await open(missing)
      try await bench.expectValue(KeyName("a"), nil, "in a store that does not exist", in: engine)
      try await engine.close()
    } else {
      try await bench.expect(.notFound, from: "opening a store that does not exist") { try await open(missing) }
    }
    try expectUnchanged(missing, since: before, bench)
  }

  func check(_ bench: Bench) async throws {
    let values = [("a", bytes("first")), ("b/1", bytes("second")), ("b/2", Data())]
    let commit = try await bench.engine.commit(
      WriteBatch(values.map { .put(try KeyName($0.0), $0.1) }), from: bench.origin)
    try await bench.closeAll()
    let before = try DirectoryContents(of: files(bench.location))
    let engine = try await open(bench.location)
    try bench.expect("isReadOnly", engine.isReadOnly, equals: true)
    try await read(values, commit, engine, bench)
    try await write(engine, bench)
    try await read(values, commit, engine, bench)
    try await engine.flush()
    try await engine.close()
    try await bench.expect(.closed, from: "a read after close") { try await engine.entry(KeyName("a")) }
    try expectUnchanged(bench.location, since: before, bench)
  }

  private func read(
    _ values: [(name: String, value: Data)], _ commit: StoreCommit, _ engine: any StorageEngine, _ bench: Bench
  ) async throws {
    for (name, value) in values {
      let key = try KeyName(name)
      try await bench.expectValue(key, value, "in a store that is open for reading only", in: engine)
      try bench.expect("contains(_:) of \(shown(key))", try await engine.contains(key), equals: true)
    }
    try await bench.expectValue(KeyName("absent"), nil, "in a store that is open for reading only", in: engine)
    let listed = try await engine.withSnapshot { try await $0.list(pageSize: 2) }
    try bench.expect("the listed keys", listed.map(\.key.string), equals: values.map(\.name))
    let summaries = try await engine.summaries(prefix: KeyName("b/")).map(\.key.string)
    try bench.expect("the summaries of a prefix", summaries, equals: ["b/1", "b/2"])
    try bench.expect("availability", await engine.currentAvailability, equals: .available)
    guard engine.capabilities.contains(.replay) else { return }
    try bench.expect("latestRevision", engine.latestRevision, equals: commit.revision)
    let listener = Listener(engine.changes(since: .zero), deadline: bench.options.deadline)
    let replayed = try await listener.wait("the commit before it was opened") { changes, _ in !changes.isEmpty }
    try bench.expect("the replayed change", replayed.first?.transaction, equals: commit.transaction)
  }

  private func write(_ engine: any StorageEngine, _ bench: Bench) async throws {
    let batches: [(String, WriteBatch)] = [
      ("a put", WriteBatch([.put(KeyName("a"), bytes("new"))])),
      ("a put of a new key", WriteBatch([.put(KeyName("new"), bytes("new"))], durability: .relaxed)),
      ("a delete", WriteBatch([.delete(KeyName("a"))])), ("a clear", WriteBatch([.clear(prefix: nil)])),
      ("a batch", WriteBatch([.delete(KeyName("a")), .put(KeyName("c"), Data())])),
      ("a precondition that fails", WriteBatch([.require(KeyName("a"), nil), .delete(KeyName("a"))])),
      ("a delete of an absent key", WriteBatch([.delete(KeyName("absent"))])),
    ]
    for (what, batch) in batches {
      try await bench.expect(.readOnly, from: what) { try await engine.commit(batch, from: bench.origin) }
    }
    guard let quarantine = engine.quarantine else { return }
    try bench.expect("the quarantine", try await quarantine.quarantinedValues(), equals: [])
    try await bench.expect(.readOnly, from: "removing bytes from the quarantine") {
      try await quarantine.removeQuarantined(["1-1"])
    }
  }

  private func expectUnchanged(
    _ location: StorageConformance.Location, since before: DirectoryContents, _ bench: Bench
  ) throws {
    let changes = try DirectoryContents(of: files(location)).changes(since: before)
    try bench.expect("the changed files", changes, equals: [])
  }
}

extension StoreChange {
  fileprivate var transaction: TransactionID? {
    if case .commit(let commit) = self { commit.transaction } else { nil }
  }
}
