import CofferCore
import CofferFileSystem
import CofferSlots
import Foundation

/// The steps of a take-over of the files in a store's own directory.
///
/// The originals are values of the store, which only a handle that takes over can open meanwhile. Each that is taken
/// gets attribute 9, as does every value that an application saves meanwhile: the next run recognizes both by it. An
/// edit by another program removes it. Files whose names are those of no key (`userName`: keys with capitals are
/// encoded) are no values of the store: they are taken as from any directory.
struct TakeOverInPlace {
  let store: SlotEngine
  let source: LegacySource
  let options: TakeOverOptions
  private let origin = StoreOrigin()

  private typealias Limits = TakeOverWork<SlotEngine>

  init(store: SlotEngine, source: LegacySource, options: TakeOverOptions) {
    (self.store, self.source, self.options) = (store, source, options)
  }

  /// An original with its destination.
  private struct Found {
    let entry: StoreEntry
    let key: StoreKey
    var value: LegacyValue
  }

  func run(_ run: TakeOver) async throws -> TakeOverReport {
    guard case .files(let directory, let encoding) = source else { return TakeOverReport(isDryRun: true) }
    try TakeOverWork(engine: store, source: source, options: options).checkSupport()
    let isBegun = try store.slots.isTakingOver
    // A store without the mark is none that is to be taken over, unless a dry run looks at a directory before that.
    let isLook = try options.isDryRun && !PathParts.exists(directory + "/.coffer")
    let isWhole = isBegun || isLook
    let all = try await store.summaries()
    var rest = all.filter { isOriginal($0.attributes, isWhole) }.map(\.key)
    guard isWhole || !rest.isEmpty else { throw storeIsSource(source, store.description) }
    var report = TakeOverReport(isDryRun: options.isDryRun)
    let limit = store.capabilities.maximumValueSize
    // Files that are no values of the store, whose names are others than those of their keys. They stay.
    let files =
      isWhole
      ? try await runBlocking { try LegacyFiles(directory, encoding, limit: limit, inStore: true) } : nil
    for entry in files?.ignored ?? [] { report.add(entry) }
    var names = all.map(\.key)
    if isWhole {
      let (found, unreadable) = try await unlisted(names)
      for entry in unreadable { report.add(entry) }
      rest += found
      names += found
    }
    let (total, done) = (names.count + (files?.names.count ?? 0), names.count - rest.count)
    run.update { $0.totalValues = total }
    run.update { $0.values = done }
    let originals = Set(rest)
    var index = 0
    while index < rest.count {
      try Task.checkCancellation()
      let (count, entries) = try await take(rest[index...], all: originals, encoding, isWhole)
      for entry in entries { report.add(entry) }
      index += count
      run.update { [index] in $0.values = done + index }
    }
    if let files {
      var work = TakeOverWork(engine: store, source: source, options: options)
      work.marksTaken = true
      try await work.takeAll(files, into: &report, run, done: names.count)
    }
    let work = TakeOverWork(engine: store, source: source, options: options)
    report.unmatchedNames = try await work.unmatched(by: names.map(\.string) + (files?.names ?? []))
    if !options.isDryRun, report.isComplete, isBegun {
      try await runBlocking { [store] in try store.slots.endTakeOver() }
    }
    return report
  }

  /// Whether a value is yet to be taken.
  /// - Parameter isWhole: whether the whole directory is taken over, and not only later files of a store.
  private func isOriginal(_ attributes: ValueAttributes, _ isWhole: Bool) -> Bool {
    isWhole ? attributes[.legacyEncoding] == nil : attributes[.foreignForm] != nil
  }

  /// Returns what the directory has besides the listed values: originals that were stored a moment ago, and those that
  /// cannot be read, which no listing contains.
  private func unlisted(
    _ listed: [StoreKey]
  ) async throws -> (originals: [StoreKey], unreadable: [TakeOverReport.Entry]) {
    let slots = try await runBlocking { [store] in try store.slots.list() }
    let keys = Set(slots.compactMap { if case .value(let key) = $0 { key } else { nil } }).subtracting(listed)
    var (originals, unreadable): ([StoreKey], [TakeOverReport.Entry]) = ([], [])
    for key in keys.sorted() {
      do {
        guard let entry = try await store.entry(key), isOriginal(entry.attributes, true) else { continue }
        originals.append(key)
      } catch let error as StorageError where error.isAboutValue {
        unreadable.append(failed(key, error))
      }
    }
    return (originals, unreadable)
  }

  private func failed(_ name: StoreKey, _ error: StorageError) -> TakeOverReport.Entry {
    guard (try? options.mapping.key(for: name.string)) != .some(nil) else {
      return .init(name: name.string, outcome: .skipped(reason: "no mapping names it"))
    }
    return .init(name: name.string, outcome: .unreadable(reason: error.message))
  }

  /// Takes the first values, and returns how many were looked at.
  private func take(
    _ rest: ArraySlice<StoreKey>, all: Set<StoreKey>, _ encoding: LegacyEncoding, _ isWhole: Bool
  ) async throws -> (Int, [TakeOverReport.Entry]) {
    var (attempt, refused) = (1, [StoreKey: StorageError]())
    while true {
      var (entries, batch) = ([TakeOverReport.Entry](), WriteBatch(durability: .full))
      var (count, size) = (0, 0)
      var targets: Set<StoreKey> = []
      for name in rest.prefix(Limits.batchCount) where size < Limits.batchSize {
        count += 1
        do {
          // What the application has saved or removed since the listing is no original any more.
          guard let entry = try await store.entry(name), isOriginal(entry.attributes, isWhole) else { continue }
          let (found, outcome) = original(entry, encoding)
          guard let found else {
            entries.append(.init(name: name.string, outcome: outcome))
            continue
          }
          if let error = refused[found.key] {
            entries.append(failed(name, error))
            continue
          }
          size += entry.value.count
          let isFree = targets.insert(found.key).inserted && (found.key == name || !all.contains(found.key))
          entries.append(try await plan(found, isFree: isFree, &batch))
        } catch let error as StorageError where error.isAboutValue {
          entries.append(failed(name, error))
        }
      }
      if options.isDryRun || batch.operations.isEmpty { return (count, entries) }
      // Read before, committed only if unchanged since: nothing that a store without the mark has saved.
      if isWhole { try requireMark() }
      do {
        try await store.commit(batch, from: origin)
        return (count, entries)
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Limits.attempts {
        attempt += 1
      } catch let error as StorageError where error.isAboutTakenValue {
        guard let key = error.key, refused[key] == nil, targets.contains(key) else { throw error }
        refused[key] = error
      }
    }
  }

  /// Throws if another opening has declared the rest to be values, and may have saved some since.
  private func requireMark() throws {
    guard try !store.slots.isTakingOver else { return }
    throw StorageError(
      .foreignFormat, "The files were declared to be values while they were being taken over.",
      advice: "What was taken before stays taken, and the rest is as it was. Read it, and save it in the form of this "
        + "store.", location: store.description)
  }

  private func original(
    _ entry: StoreEntry, _ encoding: LegacyEncoding
  ) -> (Found?, TakeOverReport.Outcome) {
    do {
      guard let key = try options.mapping.key(for: entry.key.string) else {
        return (nil, .skipped(reason: "no mapping names it"))
      }
      var value = try encoding.decode(entry.value)
      if value.attributes[.legacyEncoding] == nil { value.attributes[.legacyEncoding] = ValueAttributes.plainBytes }
      try WriteBatch([.put(key, value.data, value.attributes)]).check(store.capabilities, location: store.description)
      return (Found(entry: entry, key: key, value: value), .taken)
    } catch let failure as LegacyFailure {
      return (nil, .unreadable(reason: failure.reason))
    } catch {
      return (nil, .unreadable(reason: (error as? StorageError)?.message ?? "it cannot be decoded"))
    }
  }

  /// Adds the operations that give an original its form and its name.
  /// - Parameter isFree: whether no other original has the key or its name.
  private func plan(_ found: Found, isFree: Bool, _ batch: inout WriteBatch) async throws -> TakeOverReport.Entry {
    let (name, value) = (found.entry.key, found.value)
    var entry = TakeOverReport.Entry(
      name: name.string, key: found.key, size: value.data.count, outcome: isFree ? .taken : .conflict)
    guard isFree else { return entry }
    if name != found.key {
      let stored = try await store.entry(found.key)
      let isSame = stored?.value == value.data && stored?.attributes == value.attributes
      if stored != nil, !isSame, options.conflicts != .replaceStored {
        let isKept = options.conflicts == .keepStored
        entry.outcome = isKept ? .skipped(reason: "the store has another value") : .conflict
        return entry
      }
      batch.require(found.key, at: stored?.revision)
    }
    batch.require(name, at: found.entry.revision)
    if name != found.key { batch.delete(name) }
    batch.put(found.key, value.data, value.attributes)
    return entry
  }
}

extension StorageError {
  /// Whether a single value of an intact store cannot be read.
  fileprivate var isAboutValue: Bool {
    let codes: [Code] = [.permissionDenied, .notAStore, .valueTooLarge, .inputOutput, .damaged, .unfinished]
    return key != nil && codes.contains(code)
  }
}
