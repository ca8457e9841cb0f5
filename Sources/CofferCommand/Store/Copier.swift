import Coffer
import CofferTerminal
import Foundation

/// Copies one state of a store into another, in commits of bounded size under one transaction id.
///
/// A value that is already there is not written again, so a copy that ended early goes on when it is run again.
actor Copier {
  struct Tally: Sendable {
    let transaction = TransactionID()
    var copied = 0
    var copiedBytes = 0
    var unchanged = 0
    var skipped: [Skipped] = []
    var isInterrupted = false
    var elapsed = Duration.zero
    /// All that was looked at, for the progress display.
    fileprivate var bytes = 0
    fileprivate var values: Int { copied + unchanged + skipped.count }
  }

  /// How many bytes wait for a commit at most, unless one value has more.
  private static let batchBytes = 4 << 20

  private let from: any StorageEngine
  private let to: any StorageEngine
  private let prefix: StoreKey?
  private let isQuiet: Bool
  private let origin = StoreOrigin()
  private let progress = ProgressLine("Copying:")
  private let batchLimit: Int
  private var tally = Tally()
  private var waiting: [StoreEntry] = []
  private var waitingBytes = 0

  /// - Parameter isQuiet: whether skipped values are only in the tally, not named on standard error.
  init(from: any StorageEngine, to: any StorageEngine, prefix: StoreKey?, isQuiet: Bool) {
    self.from = from
    self.to = to
    self.prefix = prefix
    self.isQuiet = isQuiet
    batchLimit = to.capabilities.contains(.atomicBatches) ? 500 : 1
  }

  /// Copies until the end, or until the task is cancelled. What the tally counts is in TO when this returns.
  func run() async throws -> Tally {
    defer { progress.clear() }
    do {
      try await from.withSnapshot { try await self.copy($0) }
      try await writeWaiting()
    } catch is CancellationError {
      tally.isInterrupted = true
    } catch {
      try? await flush()  // What went wrong first is what to tell.
      throw error
    }
    try await flush()
    tally.elapsed = progress.elapsed
    return tally
  }

  /// After a failure: says what stays.
  func tellWhatIsCopied() {
    guard tally.copied > 0 else { return }
    progress.note("\(counted(tally.copied, "value")) had been copied and stay. The same command goes on from there.")
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
      try await writeWaiting()  // What was read before FROM failed is good, and may be all that it still gives.
      throw error
    }
  }

  private func copy(_ item: Listing<StoreEntry>.Item) async throws {
    switch item {
    case .skipped(let skipped):
      skip(skipped)
    case .found(let entry):
      tally.bytes += entry.value.count
      if try await isThere(entry) {
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

  /// Read one by one: what TO has under the same names may be much larger than what is copied.
  private func isThere(_ entry: StoreEntry) async throws -> Bool {
    do {
      guard let found = try await to.entry(entry.key), found.value == entry.value else { return false }
      return found.attributes.merging(attributes(of: entry)) == found.attributes
    } catch let error as StorageError where error.key == entry.key {
      return false  // Damaged, say: it is written again, or the write tells why it cannot be.
    }
  }

  /// What TO can keep of what is said of a value.
  private func attributes(of entry: StoreEntry) -> ValueAttributes {
    to.capabilities.contains(.attributes) ? entry.attributes : .none
  }

  private func refusal(of entry: StoreEntry) -> StorageError? {
    let limit = to.capabilities.maximumValueSize
    guard entry.value.count > limit else { return nil }
    return StorageError(
      .valueTooLarge, "The value has \(grouped(entry.value.count)) bytes; TO takes up to \(grouped(limit)).",
      backend: to.description, key: entry.key)
  }

  private func writeWaiting() async throws {
    while !waiting.isEmpty {
      var batch = WriteBatch(transaction: tally.transaction, durability: .relaxed)
      for entry in waiting { batch.put(entry.key, entry.value, attributes(of: entry)) }
      do {
        try await to.commit(batch, from: origin)
        tally.copied += waiting.count
        tally.copiedBytes += waitingBytes
        waiting = []
        waitingBytes = 0
      } catch let error as StorageError {
        // Nothing of the batch was written. Without the value that TO refuses, the others can be.
        guard let index = waiting.firstIndex(where: { $0.key == error.key && error.isAboutValue }) else { throw error }
        skip(Skipped(key: waiting[index].key, error: error))
        waitingBytes -= waiting.remove(at: index).value.count
      }
    }
  }

  /// The commits did not wait for the disk one by one. A task of its own, since an interrupted copy waits for it too.
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
  /// Whether it is the value or its name that the store refuses: the next one may be welcome.
  fileprivate var isAboutValue: Bool { code == .valueTooLarge || code == .invalidKey || code == .notAStore }
}
