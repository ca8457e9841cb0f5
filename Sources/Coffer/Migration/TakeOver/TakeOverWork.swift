import CofferCore
import CofferSlots
import Foundation

/// The steps of a take-over.
struct TakeOverWork<Engine: StorageEngine>: Sendable {
  let engine: Engine
  let source: LegacySource
  let options: TakeOverOptions
  let origin = StoreOrigin()
  /// Whether each value gets attribute 9, by which the next run of a take-over in place knows it.
  var marksTaken = false

  /// The maximum number of values of one commit, and the size in bytes from which it takes no further value.
  static var batchCount: Int { 256 }
  static var batchSize: Int { 4 << 20 }
  /// How often a batch is tried again after another program has written one of its keys meanwhile.
  static var attempts: Int { 20 }

  init(engine: Engine, source: LegacySource, options: TakeOverOptions) {
    (self.engine, self.source, self.options) = (engine, source, options)
  }

  func run(_ run: TakeOver) async throws -> TakeOverReport {
    try checkSupport()
    let limit = engine.capabilities.maximumValueSize
    let keepsTypes = engine.capabilities.contains(.propertyLists)
    let source = try source.located()
    if source.isStore(at: engine.description), let store = engine.as(SlotEngine.self) {
      return try await TakeOverInPlace(store: store, source: source, options: options).run(run)
    }
    let opened = try await runBlocking {
      try refuseStore(engine.description, in: source)
      return try source.open(limit: limit, keepsPreferenceTypes: keepsTypes)
    }
    var report = TakeOverReport(isDryRun: options.isDryRun)
    for entry in opened.ignored { report.add(entry) }
    run.update { $0.totalValues = opened.names.count }
    try await takeAll(opened, into: &report, run)
    report.unmatchedNames = try await unmatched(by: opened.names)
    return report
  }

  /// Returns the names of the mapping that match none of the source, unless an earlier run has taken and removed them.
  func unmatched(by names: [String]) async throws -> [String] {
    var unmatched: [String] = []
    for rule in options.mapping.unmatched(by: names) {
      if rule.isPattern {
        let prefix = rule.key.isEmpty ? nil : try? StoreKey(rule.key)
        let isListed = engine.capabilities.contains(.listing) && (prefix != nil || rule.key.isEmpty)
        if isListed, try await !engine.summaries(prefix: prefix).isEmpty { continue }
      } else if let key = try? StoreKey(rule.key), try await engine.contains(key) {
        continue
      }
      unmatched.append(rule.name)
    }
    return unmatched
  }

  /// Takes the values of an open source.
  /// - Parameter done: the number of values that are done before.
  func takeAll(
    _ opened: any LegacyOrigin, into report: inout TakeOverReport, _ run: TakeOver, done: Int = 0
  ) async throws {
    let shared = sharedKeys(opened.names)
    var index = 0
    while index < opened.names.count {
      try Task.checkCancellation()
      let batch = try await runBlocking { [index] in try read(opened, from: index) }
      index = batch.end
      for entry in batch.others { report.add(entry) }
      for entry in try await take(batch.found, opened, shared) { report.add(entry) }
      run.update { [index] in $0.values = done + index }
    }
  }

  func checkSupport() throws {
    let capabilities = engine.capabilities
    guard options.isDryRun || capabilities.contains(.preconditions) else {
      throw StorageError.unsupported(
        "taking over values, which needs preconditions", advice: "Nothing was changed.", location: engine.description)
    }
    guard options.removesOriginals else { return }
    guard source.isRemovable else {
      throw StorageError(
        .unsupported, "Originals are removed only from a directory of files or a keyring.",
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
  struct Found: Sendable {
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
          if var original = try opened.read(name) {
            if marksTaken, original.value.attributes[.legacyEncoding] == nil {
              original.value.attributes[.legacyEncoding] = ValueAttributes.plainBytes
            }
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
      } catch let error as StorageError where error.code != .unavailable {
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
}
