import Coffer
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
    var elapsed = Duration.zero
    /// The bytes read so far, for the progress display.
    fileprivate var bytes = 0
    fileprivate var values: Int { copied + unchanged + skipped.count }
  }

  /// The maximum number of bytes in one commit, unless a single value is larger.
  private static let batchBytes = 4 << 20

  private let from: any StorageEngine
  private let to: any StorageEngine
  private let mixed: MixedTarget?
  private let prefix: StoreKey?
  private let isQuiet: Bool
  private let origin = StoreOrigin()
  private let progress = ProgressLine("Copying:")
  private let batchLimit: Int
  private var tally = Tally()
  private var waiting: [Waiting] = []
  private var waitingBytes = 0

  /// A value that is written with the next commit.
  private struct Waiting {
    let entry: StoreEntry
    let isPlain: Bool
  }

  /// - Parameters:
  ///   - mixed: TO as a store of which only some values are encrypted; `nil` for every other one.
  ///   - isQuiet: Whether skipped values are only recorded in the tally, not reported on standard error.
  init(
    from: any StorageEngine, to: any StorageEngine, mixed: MixedTarget? = nil, prefix: StoreKey?, isQuiet: Bool
  ) {
    self.from = from
    self.to = to
    self.mixed = mixed
    self.prefix = prefix
    self.isQuiet = isQuiet
    batchLimit = to.capabilities.contains(.atomicBatches) ? 500 : 1
  }

  /// Copies all values, or those up to the cancellation of the task. All that the tally counts as copied is durable in
  /// TO when this returns.
  func run() async throws -> Tally {
    defer { progress.clear() }
    do {
      try await from.withSnapshot { try await self.copy($0) }
      try await writeWaiting()
    } catch is CancellationError {
      tally.isInterrupted = true
    } catch {
      try? await flush()  // The first error is the one to report.
      throw error
    }
    try await flush()
    tally.elapsed = progress.elapsed
    return tally
  }

  /// Reports after a failure how many values remain in TO.
  func tellWhatIsCopied() {
    guard tally.copied > 0 else { return }
    progress.note("\(counted(tally.copied, "value")) had been copied. Run the same command again to copy the rest.")
  }

  private func copy(_ snapshot: any StorageSnapshot) async throws {
    var last: StoreKey?
    while true {
      let items = try await nextPage(of: snapshot, after: last)
      guard let end = items.last else { return }
      for item in items {
        try Task.checkCancellation()
        try await copy(item)
        progress.update(values: tally.values + waiting.count, bytes: tally.bytes)
      }
      last = end.key
    }
  }

  private func nextPage(of snapshot: any StorageSnapshot, after last: StoreKey?) async throws -> [Listing<StoreEntry>
    .Item]
  {
    do {
      return try await Listing<StoreEntry>.page(of: snapshot, prefix: prefix, after: last)
    } catch {
      try await writeWaiting()  // The values read before FROM failed are intact; a later run may not reach them.
      throw error
    }
  }

  private func copy(_ item: Listing<StoreEntry>.Item) async throws {
    switch item {
    case .skipped(let skipped):
      skip(skipped)
    case .found(let entry):
      tally.bytes += entry.value.count
      do { _ = try entry.checkedForEnvelope(from) } catch let error as StorageError {
        return skip(Skipped(key: entry.key, error: error))
      }
      let form = try await mixed?.form(of: entry)
      if form?.isNew != true, try await isThere(entry) {
        tally.unchanged += 1
      } else if let refusal = refusal(of: entry, form) {
        skip(Skipped(key: entry.key, error: refusal))
      } else {
        if waitingBytes + entry.value.count > Self.batchBytes { try await writeWaiting() }
        waiting.append(Waiting(entry: entry, isPlain: form?.isEncrypted == false))
        waitingBytes += entry.value.count
        if waiting.count >= batchLimit { try await writeWaiting() }
      }
    }
  }

  /// Returns whether TO already has the value with its attributes.
  ///
  /// Values are compared one by one, since those of TO may be much larger than those being copied.
  private func isThere(_ entry: StoreEntry) async throws -> Bool {
    do {
      guard let found = try await to.entry(entry.key), found.value == entry.value else { return false }
      return found.attributes.merging(attributes(of: entry)) == found.attributes
    } catch let error as StorageError where error.key == entry.key {
      return false  // A damaged value, for example, is written again; if that fails, the write reports why.
    }
  }

  /// Returns the attributes of a value that TO can store.
  private func attributes(of entry: StoreEntry) -> ValueAttributes {
    to.capabilities.contains(.attributes) ? entry.attributes : .none
  }

  private func refusal(of entry: StoreEntry, _ form: MixedTarget.Form?) -> StorageError? {
    if form?.isEncrypted == true, let refusal = mixed?.refusal(of: entry.key) { return refusal }
    let limit = to.capabilities.maximumValueSize
    guard entry.value.count > limit else { return nil }
    return StorageError(
      .valueTooLarge, "The value has \(grouped(entry.value.count)) bytes; TO takes up to \(grouped(limit)).",
      location: to.description, key: entry.key)
  }

  private func writeWaiting() async throws {
    while !waiting.isEmpty {
      // Only for a store of which some values are encrypted are there two forms, and so two commits.
      let isPlain = waiting[0].isPlain
      let entries = waiting.filter { $0.isPlain == isPlain }.map(\.entry)
      var batch = WriteBatch(transaction: tally.transaction, durability: .relaxed)
      for entry in entries { batch.put(entry.key, entry.value, attributes(of: entry)) }
      do {
        let engine: any StorageEngine = if isPlain, let mixed { mixed.plain } else { to }
        try await engine.commit(batch, from: origin)
        let bytes = entries.reduce(0) { $0 + $1.value.count }
        tally.copied += entries.count
        tally.copiedBytes += bytes
        waiting.removeAll { $0.isPlain == isPlain }
        waitingBytes -= bytes
      } catch let error as StorageError {
        // The batch was rejected as a whole: retry it without the value that TO refuses.
        guard let index = waiting.firstIndex(where: { $0.entry.key == error.key && error.isAboutValue }) else {
          throw error
        }
        skip(Skipped(key: waiting[index].entry.key, error: error))
        waitingBytes -= waiting.remove(at: index).entry.value.count
      }
    }
  }

  /// Makes the relaxed commits durable. It runs in an unstructured task, so that a cancelled copy completes it, too.
  private func flush() async throws {
    let to = to
    try await Task { try await to.flush() }.value
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
