import CofferCore
import Foundation

/// The steps of an import.
struct ImportWork<Engine: StorageEngine>: Sendable {
  let engine: Engine
  let source: Import.Source
  let options: Import.Options
  private let origin = StoreOrigin()

  /// The maximum number of values of one commit, and the size in bytes from which it takes no further value.
  private static var batchCount: Int { 256 }
  private static var batchSize: Int { 4 << 20 }
  /// How often a batch is tried again after another program has written one of its keys meanwhile.
  private static var attempts: Int { 20 }

  init(engine: Engine, source: Import.Source, options: Import.Options) {
    (self.engine, self.source, self.options) = (engine, source, options)
  }

  func run(_ run: Import.Run) async throws -> Import.Report {
    try checkSupport()
    let limit = engine.capabilities.maximumValueSize
    let keepsTypes = engine.capabilities.contains(.propertyLists)
    let opened = try await runBlocking {
      try source.refuseStore(engine.description)
      return try source.open(limit: limit, keepsPreferenceTypes: keepsTypes)
    }
    var report = Import.Report(isDryRun: options.isDryRun)
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
        "importing values, which needs preconditions", advice: "Nothing was changed.", location: engine.description)
    }
    guard options.removesOriginals else { return }
    guard source.isRemovable else {
      throw StorageError(
        .unsupported, "Originals are removed only from a directory of files or a keyring.",
        advice: "Import the values without removing them, and remove them yourself. Nothing was changed.",
        location: source.path)
    }
    guard options.isDryRun || capabilities.contains([.persistence, .powerLossSafety]) else {
      throw StorageError.unsupported(
        "the durability that removing the originals needs",
        advice: "Import the values without removing them. Nothing was changed.", location: engine.description)
    }
  }

  // MARK: Reading

  /// The keys of several values. None of these replaces another, and their originals stay: a resumed run would find
  /// only the last one.
  private func sharedKeys(_ names: [String]) -> Set<KeyName> {
    var (seen, shared): (Set<KeyName>, Set<KeyName>) = ([], [])
    for key in names.compactMap({ try? options.key($0) }) where !seen.insert(key).inserted { shared.insert(key) }
    return shared
  }

  /// A value with its destination.
  private struct Found: Sendable {
    let original: ImportedOriginal
    let key: KeyName
    let value: Data

    /// Whether the store has the value. One that expires is another: the original has no end.
    func isEqual(to stored: StoreEntry) -> Bool {
      stored.value == value && stored.attributes[.expiry] == nil
    }
  }

  private struct Batch: Sendable {
    var found: [Found] = []
    var others: [Import.Report.Entry] = []
    var end = 0
  }

  private func read(_ opened: any ImportOrigin, from start: Int) throws -> Batch {
    var batch = Batch(end: start)
    var keys: Set<KeyName> = []
    var size = 0
    let names = opened.names
    while batch.end < names.count, batch.found.count + batch.others.count < Self.batchCount, size < Self.batchSize {
      let name = names[batch.end]
      var key: KeyName?
      do {
        key = try options.key(name)
        if let key {
          // The second value of one key is compared with the first, once that is stored.
          guard keys.insert(key).inserted else { return batch }
          if let original = try opened.read(name) {
            let value = original.isDecoded ? original.data : try source.encoding.decode(original.data)
            try WriteBatch([.put(key, value, original.attributes)]).check(
              engine.capabilities, location: engine.description)
            size += value.count
            batch.found.append(Found(original: original, key: key, value: value))
          } else {
            batch.others.append(.init(name: name, key: key, outcome: .skipped(reason: "it was removed meanwhile")))
          }
        } else {
          batch.others.append(.init(name: name, outcome: .skipped(reason: "no mapping names it")))
        }
      } catch let failure as ImportFailure {
        batch.others.append(.init(name: name, key: key, outcome: .unreadable(reason: failure.reason)))
      } catch let error as StorageError where error.code != .unavailable {
        batch.others.append(.init(name: name, key: key, outcome: .unreadable(reason: error.message)))
      }
      batch.end += 1
    }
    return batch
  }

  // MARK: Storing

  /// Stores the values of a batch, compares them, and removes their originals if that is asked for.
  private func take(
    _ found: [Found], _ opened: any ImportOrigin, _ shared: Set<KeyName>
  ) async throws -> [Import.Report.Entry] {
    var (attempt, refused) = (1, [KeyName: StorageError]())
    while true {
      var (entries, batch) = ([Import.Report.Entry](), WriteBatch(durability: .full))
      for item in found {
        let size = engine.capabilities.contains(.secrecy) ? nil : item.value.count
        let outcome =
          if let error = refused[item.key] { Import.Report.Outcome.unreadable(reason: error.message) } else {
            try await plan(item, isShared: shared.contains(item.key), &batch)
          }
        var entry = Import.Report.Entry(name: item.original.name, key: item.key, size: size, outcome: outcome)
        entry.isBase64 = options.isDryRun && ForeignData.Encoding(recognizing: item.value) == .base64
        entries.append(entry)
      }
      if options.isDryRun { return entries }
      do {
        if !batch.operations.isEmpty { try await engine.commit(batch, from: origin) }
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Self.attempts {
        attempt += 1
        continue
      } catch let error as StorageError where error.isAboutContent {
        // One that the store cannot hold does not keep back the others.
        guard let key = error.key, refused[key] == nil, found.contains(where: { $0.key == key }) else { throw error }
        refused[key] = error
        continue
      }
      return try await compare(found, entries, opened, shared)
    }
  }

  /// Adds to the batch what stores a value. The values of the store are read one by one, since they may be large.
  private func plan(
    _ found: Found, isShared: Bool, _ batch: inout WriteBatch
  ) async throws -> Import.Report.Outcome {
    let stored = try await engine.entry(found.key)
    if let stored, found.isEqual(to: stored) {
      // Its writer may not have synced it. A commit with full durability does, before the original is removed.
      if options.removesOriginals {
        batch.require(found.key, at: stored.revision)
        batch.put(found.key, stored.value, stored.attributes)
      }
      return .alreadyThere
    }
    if stored != nil {
      switch options.conflicts {
      case .refuse: return .conflict
      case .keepStored: return .skipped(reason: "the store has another value")
      case .replaceStored: if isShared { return .conflict }
      }
    }
    batch.require(found.key, at: stored?.revision)
    batch.put(found.key, found.value, found.original.attributes)
    return .imported
  }

  /// Reads the values back, and removes the originals of those that the store has if that is asked for.
  private func compare(
    _ found: [Found], _ planned: [Import.Report.Entry], _ opened: any ImportOrigin, _ shared: Set<KeyName>
  ) async throws -> [Import.Report.Entry] {
    var entries = planned
    var removable: [Int] = []
    for (index, item) in found.enumerated() where entries[index].isStored {
      // Another program may have written the key since; the original then stays.
      if let stored = try await engine.entry(item.key), item.isEqual(to: stored) {
        if !shared.contains(item.key) { removable.append(index) }
      } else if entries[index].outcome == .imported {
        entries[index].outcome = .conflict
      }
    }
    guard options.removesOriginals else { return entries }
    let originals = removable.map { found[$0].original }
    let removed = try await runBlocking { try opened.remove(originals) }
    for (index, isRemoved) in zip(removable, removed) { entries[index].isOriginalRemoved = isRemoved }
    return entries
  }
}
