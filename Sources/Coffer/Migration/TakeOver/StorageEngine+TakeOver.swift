public import CofferCore
import CofferFileSystem
import Foundation

extension StorageEngine {
  /// Takes over the values that another library has stored: reads, decodes and commits them in batches, reads them
  /// back and compares, and then leaves or removes the originals.
  ///
  /// A typed read returns the value that the other library was given. A key that exists is never overwritten unless
  /// ``TakeOverOptions/conflicts`` says so. Each original is removed after the commit of its value with full
  /// durability, and only if it has not changed since. A value that cannot be read is reported; the others are taken.
  ///
  /// - Returns: The running take-over. Its ``TakeOver/result()`` throws `StorageError`: `unsupported` if the store
  ///   lacks preconditions or the durability for removing originals, or is in the source itself; the errors of the
  ///   source and of commits.
  public func takeOver(from source: LegacySource, options: TakeOverOptions = TakeOverOptions()) -> TakeOver {
    TakeOver { run in try await TakeOverWork(engine: self, source: source, options: options).run(run) }
  }
}

/// The steps of a take-over.
struct TakeOverWork<Engine: StorageEngine>: Sendable {
  let engine: Engine
  let source: LegacySource
  let options: TakeOverOptions
  private let origin = StoreOrigin()

  /// The maximum number of values of one commit, and the size in bytes from which it takes no further value.
  private static var batchCount: Int { 256 }
  private static var batchSize: Int { 4 << 20 }
  /// How often a batch is tried again after another program has written one of its keys meanwhile.
  private static var attempts: Int { 20 }

  init(engine: Engine, source: LegacySource, options: TakeOverOptions) {
    (self.engine, self.source, self.options) = (engine, source, options)
  }

  func run(_ run: TakeOver) async throws -> TakeOverReport {
    try checkSupport()
    let limit = engine.capabilities.maximumValueSize
    let keepsTypes = engine.capabilities.contains(.propertyLists)
    let opened = try await runBlocking { [source] in
      try refuseStore(engine.description, in: source)
      return try source.open(limit: limit, keepsPreferenceTypes: keepsTypes)
    }
    var report = TakeOverReport(isDryRun: options.isDryRun)
    for entry in opened.ignored { report.add(entry) }
    run.update { $0.totalValues = opened.names.count }
    let shared = sharedKeys(opened.names)
    var index = 0
    while index < opened.names.count {
      try Task.checkCancellation()
      let batch = try await runBlocking { [index] in try read(opened, from: index) }
      index = batch.end
      for entry in batch.others { report.add(entry) }
      for entry in try await take(batch.found, opened, shared) { report.add(entry) }
      run.update { [index] in $0.values = index }
    }
    return report
  }

  private func checkSupport() throws {
    let capabilities = engine.capabilities
    guard options.isDryRun || capabilities.contains(.preconditions) else {
      throw StorageError.unsupported(
        "taking over values, which needs preconditions", advice: "Nothing was changed.", location: engine.description)
    }
    guard options.removesOriginals else { return }
    guard source.isRemovable else {
      throw StorageError(
        .unsupported, "Originals are removed only from a directory of files.",
        advice: "Take the values over without removing them, and remove them yourself. Nothing was changed.",
        location: source.path)
    }
    guard options.isDryRun || capabilities.contains([.persistence, .powerLossSafety]) else {
      throw StorageError.unsupported(
        "the durability that removing the originals needs",
        advice: "Take the values over without removing them. Nothing was changed.", location: engine.description)
    }
  }

  // MARK: Reading

  /// The keys of several values. None of these replaces another, and their originals stay: a resumed run would find
  /// only the last one.
  private func sharedKeys(_ names: [String]) -> Set<StoreKey> {
    var (seen, shared): (Set<StoreKey>, Set<StoreKey>) = ([], [])
    for name in names {
      guard let key = try? options.mapping.key(for: name) else { continue }
      if !seen.insert(key).inserted { shared.insert(key) }
    }
    return shared
  }

  /// A value with its destination.
  private struct Found: Sendable {
    let original: LegacyOriginal
    let key: StoreKey
  }

  private struct Batch: Sendable {
    var found: [Found] = []
    var others: [TakeOverReport.Entry] = []
    var end = 0
  }

  private func read(_ opened: any LegacyOrigin, from start: Int) throws -> Batch {
    var batch = Batch(end: start)
    var keys: Set<StoreKey> = []
    var size = 0
    let names = opened.names
    while batch.end < names.count, batch.found.count + batch.others.count < Self.batchCount, size < Self.batchSize {
      let name = names[batch.end]
      var key: StoreKey?
      do {
        key = try options.mapping.key(for: name)
        if let key {
          // The second value of one key is compared with the first, once that is stored.
          guard keys.insert(key).inserted else { return batch }
          if let original = try opened.read(name) {
            try check(original.value, key)
            size += original.value.data.count
            batch.found.append(Found(original: original, key: key))
          } else {
            batch.others.append(.init(name: name, key: key, outcome: .skipped(reason: "it was removed meanwhile")))
          }
        } else {
          batch.others.append(.init(name: name, outcome: .skipped(reason: "no mapping names it")))
        }
      } catch let failure as LegacyFailure {
        batch.others.append(.init(name: name, key: key, outcome: .unreadable(reason: failure.reason)))
      } catch let error as StorageError {
        batch.others.append(.init(name: name, key: key, outcome: .unreadable(reason: error.message)))
      }
      batch.end += 1
    }
    return batch
  }

  private func check(_ value: LegacyValue, _ key: StoreKey) throws {
    let batch = WriteBatch([.put(key, value.data, value.attributes)])
    try batch.check(engine.capabilities, location: engine.description)
  }

  // MARK: Storing

  private enum Decision {
    /// Store it, if the key has this revision.
    case put(StoreRevision?)
    /// The store has it.
    case keep
    case conflict
    case skip
  }

  private func decide(_ found: Found, _ stored: StoreEntry?, _ shared: Set<StoreKey>) -> Decision {
    guard let stored else { return .put(nil) }
    if isEqual(found, stored) { return .keep }
    switch options.conflicts {
    case .refuse: return .conflict
    case .keepStored: return .skip
    case .replaceStored: return shared.contains(found.key) ? .conflict : .put(stored.revision)
    }
  }

  private func isEqual(_ found: Found, _ stored: StoreEntry) -> Bool {
    let value = found.original.value
    // A value that expires is not the same: the original has no end.
    return stored.value == value.data && stored.attributes[.expiry] == nil
      && stored.attributes[.legacyEncoding] == value.attributes[.legacyEncoding]
  }

  private func take(
    _ found: [Found], _ opened: any LegacyOrigin, _ shared: Set<StoreKey>
  ) async throws -> [TakeOverReport.Entry] {
    guard !found.isEmpty else { return [] }
    for attempt in 1... {
      let stored = try await engine.entries(found.map(\.key))
      let decisions = zip(found, stored).map { decide($0, $1, shared) }
      var entries = zip(found, decisions).map(entry)
      if options.isDryRun { return entries }
      do {
        try await commit(found, decisions, stored)
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Self.attempts {
        continue
      }
      let kept = try await compare(found, decisions)
      for index in Set(found.indices).subtracting(kept) {
        if case .put = decisions[index] { entries[index].outcome = .conflict }
      }
      guard options.removesOriginals else { return entries }
      let removable = kept.filter { !shared.contains(found[$0].key) }
      let originals = removable.map { found[$0].original }
      let removed = try await runBlocking { try opened.remove(originals) }
      for (index, isRemoved) in zip(removable, removed) { entries[index].isOriginalRemoved = isRemoved }
      return entries
    }
    return []
  }

  private func commit(_ found: [Found], _ decisions: [Decision], _ stored: [StoreEntry?]) async throws {
    var batch = WriteBatch(durability: .full)
    for (index, (found, decision)) in zip(found, decisions).enumerated() {
      switch decision {
      case .put(let revision):
        batch.require(found.key, at: revision)
        batch.put(found.key, found.original.value.data, found.original.value.attributes)
      case .keep where options.removesOriginals:
        // Its writer may not have synced it. A commit with full durability does, before the original is removed.
        guard let entry = stored[index] else { continue }
        batch.require(found.key, at: entry.revision)
        batch.put(found.key, entry.value, entry.attributes)
      case .keep, .conflict, .skip: continue
      }
    }
    if !batch.operations.isEmpty { try await engine.commit(batch, from: origin) }
  }

  /// Reads the values back, and returns the indices of those that the store has.
  private func compare(_ found: [Found], _ decisions: [Decision]) async throws -> [Int] {
    let stored = try await engine.entries(found.map(\.key))
    return found.indices.filter { index in
      switch decisions[index] {
      // Another program may have written the key since; the original then stays.
      case .put, .keep: stored[index].map { isEqual(found[index], $0) } ?? false
      case .conflict, .skip: false
      }
    }
  }

  private func entry(_ found: Found, _ decision: Decision) -> TakeOverReport.Entry {
    let size = engine.capabilities.contains(.secrecy) ? nil : found.original.value.data.count
    let outcome: TakeOverReport.Outcome =
      switch decision {
      case .put: .taken
      case .keep: .alreadyThere
      case .conflict: .conflict
      case .skip: .skipped(reason: "the store has another value")
      }
    return .init(name: found.original.name, key: found.key, size: size, outcome: outcome)
  }
}

extension LegacySource {
  /// Checks that the source can be read, and has no files of the store, before the store is created.
  /// - Throws: `StorageError`: `unsupported`, and the errors of the source.
  package func check(against location: StoreLocation) throws {
    try refuseStore(location.description, in: self)
    _ = try open(limit: 0, keepsPreferenceTypes: true)
  }
}

/// Refuses a store whose own files would be read as originals.
private func refuseStore(_ description: String, in source: LegacySource) throws {
  guard let location = try? StoreLocation(description) else { return }
  if case .chain(let links) = location {
    for link in links { try refuseStore(link.description, in: source) }
    return
  }
  guard let path = location.filePath else { return }
  let (store, origin) = (resolved(path), resolved(source.path))
  var isInside = store == origin || origin.hasPrefix(store + "/")
  if case .files = source, PathParts(store).parent == origin {
    var status = stat()
    isInside = isInside || stat(store, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR
  }
  guard isInside else { return }
  throw StorageError(
    .unsupported, "The source contains the files of the store itself.",
    advice: "Take the values over into a store outside of \(source.path.escapingControlCharacters). "
      + "Nothing was changed.",
    location: description)
}

private func resolved(_ path: String) -> String {
  if let real = realpath(path, nil) {
    defer { free(real) }
    return String(cString: real)
  }
  // A store that is not created yet, in a directory that exists.
  let parts = PathParts(path)
  guard let parent = realpath(parts.parent, nil) else { return path }
  defer { free(parent) }
  return String(cString: parent) + "/" + parts.last
}

extension StoreLocation {
  /// The path of the file or directory of the store, or `nil` if it has none.
  fileprivate var filePath: String? {
    switch self {
    case .sqlite(let path), .sealed(let path): path
    case .files(let directory): directory
    case .encrypted(let base): base.filePath
    case .memory, .preferences, .keychain, .chain, .other: nil
    }
  }
}
