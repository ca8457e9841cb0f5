import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// Copies a snapshot of one store into another, in commits of bounded size under one transaction ID.
///
/// A value that the target already has is not written again, so running an interrupted copy again completes it.
actor Copier {
  struct Tally: Sendable {
    let transaction = TransactionID()
    var copied = 0
    var copiedBytes = 0
    var unchanged = 0
    var skipped: [Skipped] = []
    var isInterrupted = false
    /// The key up to which every value is copied, unchanged or skipped; `nil` for none.
    var through: KeyName?
    /// The number of values of a commit whose outcome is unknown.
    var unknown = 0
    var elapsed = Duration.zero
    /// The bytes read so far, for the progress display.
    fileprivate var bytes = 0
    fileprivate var values: Int { copied + unchanged + skipped.count }
  }

  /// The maximum number of bytes in one commit, unless a single value is larger.
  private static let batchBytes = 4 << 20
  /// The maximum number of values of TO that are read at once, and the bytes that they are meant to have together.
  private static let comparedAtOnce = (values: 256, bytes: 16 << 20)

  private let from: any StorageEngine
  private let to: any StorageEngine
  private let prefix: KeyName?
  private let isQuiet: Bool
  private let origin = StoreOrigin()
  private let progress = ProgressLine("Copying:")
  private let batchLimit: Int
  private var tally = Tally()
  private var waiting: [StoreEntry] = []
  private var waitingBytes = 0
  /// The number of values of TO that are read at once, which depends on their size.
  private var comparedValues = 16
  /// The key of the last value of FROM that was dealt with, or waits to be written.
  private var reached: KeyName?

  /// - Parameter isQuiet: Whether skipped values are only recorded in the tally, not reported on standard error.
  init(from: any StorageEngine, to: any StorageEngine, prefix: KeyName?, isQuiet: Bool) {
    self.from = from
    self.to = to
    self.prefix = prefix
    self.isQuiet = isQuiet
    batchLimit = to.capabilities.contains(.atomicBatches) ? 500 : 1
  }

  /// Copies all values, or those up to the cancellation of the task. All that the tally counts as copied is durable in
  /// TO when this returns. Without a cancellation, so is what it found unchanged, unless another process stored that
  /// with a relaxed commit after the last commit of the copy or, if it commits nothing, after TO was opened.
  func run() async throws -> Tally {
    defer { progress.clear() }
    do {
      try await from.withSnapshot { try await self.copy($0) }
      try await writeWaiting()
      // What was found unchanged may be of commits that are not durable, such as those of a copy that was killed.
      try await to.flush()
    } catch is CancellationError {
      tally.isInterrupted = true
    }
    tally.elapsed = progress.elapsed
    return tally
  }

  /// The tally of a copy that has failed.
  var partial: Tally {
    var partial = tally
    partial.elapsed = progress.elapsed
    return partial
  }

  /// Reports after a failure what remains in TO, and what is not there.
  func tellWhatIsCopied() { progress.note(tally.remainder) }

  private func copy(_ snapshot: any StorageSnapshot) async throws {
    var last: KeyName?
    while true {
      let items = try await nextPage(of: snapshot, after: last)
      guard let end = items.last else { return }
      var rest = items[...]
      while !rest.isEmpty {
        try Task.checkCancellation()
        let compared = firstToCompare(of: rest)
        rest = rest.dropFirst(compared.count)
        let present = try await present(Self.keys(compared))
        for item in compared {
          try Task.checkCancellation()
          try await copy(item, present)
          reached = item.key
          noteThrough()
          progress.update(values: tally.values + waiting.count, bytes: tally.bytes)
        }
      }
      last = end.key
    }
  }

  /// Returns the first values whose counterparts in TO are read at once. They often have the same size.
  private func firstToCompare(of items: ArraySlice<Listing<StoreEntry>.Item>) -> ArraySlice<Listing<StoreEntry>.Item> {
    var (count, bytes) = (0, 0)
    for item in items.prefix(comparedValues) {
      if case .found(let entry) = item { bytes += entry.value.count }
      if count > 0, bytes > Self.comparedAtOnce.bytes { break }
      count += 1
    }
    return items.prefix(count)
  }

  private static func keys(_ items: ArraySlice<Listing<StoreEntry>.Item>) -> [KeyName] {
    items.compactMap { if case .found(let entry) = $0 { entry.key } else { nil } }
  }

  private func noteThrough() {
    if waiting.isEmpty { tally.through = reached }
  }

  /// Returns the values of TO with the given keys, without those that cannot be read.
  private func present(_ keys: [KeyName]) async throws -> [KeyName: StoreEntry] {
    var found: [StoreEntry?]
    do {
      found = try await to.entries(keys)
    } catch let error as StorageError where error.key != nil {
      found = []
      for key in keys { found.append(try await present(key)) }
    }
    let entries = found.compactMap { $0 }
    let size = entries.reduce(0) { $0 + $1.value.count } / max(1, entries.count)
    comparedValues = max(1, min(Self.comparedAtOnce.values, Self.comparedAtOnce.bytes / max(1, size)))
    return Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns a value of TO; `nil` if there is none, or if it is damaged, for example: it is written again, and if that
  /// fails, the write reports why.
  private func present(_ key: KeyName) async throws -> StoreEntry? {
    do { return try await to.entry(key) } catch let error as StorageError where error.key == key { return nil }
  }

  private func nextPage(of snapshot: any StorageSnapshot, after last: KeyName?) async throws -> [Listing<StoreEntry>
    .Item]
  {
    do {
      return try await Listing<StoreEntry>.page(of: snapshot, prefix: prefix, after: last)
    } catch {
      try await writeWaiting()  // The values read before FROM failed are intact; a later run may not reach them.
      throw error
    }
  }

  private func copy(_ item: Listing<StoreEntry>.Item, _ present: [KeyName: StoreEntry]) async throws {
    switch item {
    case .skipped(let skipped):
      skip(skipped)
    case .found(let entry):
      tally.bytes += entry.value.count
      do { _ = try entry.checkedForEnvelope(from) } catch let error as StorageError {
        return skip(Skipped(key: entry.key, error: error))
      }
      if isThere(entry, present[entry.key]) {
        tally.unchanged += 1
      } else if let refusal = refusal(of: entry) {
        skip(Skipped(key: entry.key, error: refusal))
      } else {
        if waitingBytes + entry.value.count > Self.batchBytes { try await writeWaiting() }
        waiting.append(entry)
        waitingBytes += entry.value.count
        if waiting.count >= batchLimit { try await writeWaiting() }
      }
    }
  }

  /// Returns whether a value of TO is that of FROM, with its attributes.
  private func isThere(_ entry: StoreEntry, _ found: StoreEntry?) -> Bool {
    guard let found, found.value == entry.value else { return false }
    return found.attributes.merging(attributes(of: entry)) == found.attributes
  }

  /// Returns the attributes of a value that TO can store.
  private func attributes(of entry: StoreEntry) -> ValueAttributes {
    to.capabilities.contains(.attributes) ? entry.attributes : .none
  }

  private func refusal(of entry: StoreEntry) -> StorageError? {
    let limit = to.capabilities.maximumValueSize
    guard entry.value.count > limit else { return nil }
    return StorageError(
      .valueTooLarge, "The value has \(grouped(entry.value.count)) bytes; TO takes up to \(grouped(limit)).",
      location: to.description, key: entry.key)
  }

  private func writeWaiting() async throws {
    while !waiting.isEmpty {
      // Not relaxed: after a power loss, TO would report lost commits, though nobody was told that they are stored.
      var batch = WriteBatch(transaction: tally.transaction)
      for entry in waiting { batch.put(entry.key, entry.value, attributes(of: entry)) }
      do {
        try await to.commit(batch, from: origin)
        tally.copied += waiting.count
        tally.copiedBytes += waitingBytes
        (waiting, waitingBytes) = ([], 0)
        noteThrough()
      } catch let error as StorageError {
        // The batch was rejected as a whole: retry it without the value that TO refuses.
        guard let index = waiting.firstIndex(where: { $0.key == error.key && error.isAboutValue }) else {
          if error.code == .outcomeUnknown { tally.unknown = waiting.count }
          throw error
        }
        skip(Skipped(key: waiting[index].key, error: error))
        waitingBytes -= waiting.remove(at: index).value.count
      }
    }
  }

  private func skip(_ skipped: Skipped) {
    tally.skipped.append(skipped)
    guard !isQuiet else { return }
    progress.note("'\(skipped.key.string.oneLine())' was not copied: \(skipped.error.message)", after: "coffer:")
  }
}

extension StorageError {
  /// Whether the store refuses this value or its key, so that other values may still be accepted.
  fileprivate var isAboutValue: Bool { [.valueTooLarge, .invalidKey, .notAStore, .keyUnavailable].contains(code) }
}
