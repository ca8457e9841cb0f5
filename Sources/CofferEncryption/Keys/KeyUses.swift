import CofferCrypto
import CofferLocks

/// Counts the values that a handle encrypts under each key, until the numbers are recorded in the key ring.
///
/// Each change of the ring is a commit and makes every process read it again, so that the numbers are recorded seldom:
/// after a batch, and when a handle is closed after a sixteenth of one. The recorded number is a lower bound.
final class KeyUses: Sendable {
  /// The count of one key.
  final class Counter: Sendable {
    private let count = Locked<UInt64>(0)
    private let batch: UInt64
    private let isFull: @Sendable () -> Void

    init(batch: UInt64, isFull: @escaping @Sendable () -> Void) {
      self.batch = max(1, batch)
      self.isFull = isFull
    }

    /// Counts one value.
    func add() {
      let isFull = count.withLock { count in
        count += 1
        return count % batch == 0
      }
      if isFull { self.isFull() }
    }

    /// The number of values since it was taken.
    var number: UInt64 { count.withLock { $0 } }

    /// Returns the count and sets it to zero.
    func take() -> UInt64 {
      count.withLock { count in
        defer { count = 0 }
        return count
      }
    }

    /// Adds a count that could not be recorded.
    func giveBack(_ number: UInt64) { count.withLock { $0 += number } }
  }

  private struct State {
    var counters: [KeyID: Counter] = [:]
    var isFull: @Sendable () -> Void = {}
  }

  private let batch: UInt64
  private let state = Locked(State())

  /// - Parameter batch: the number of values of a key after which they are recorded.
  init(batch: UInt64) { self.batch = batch }

  /// Sets what is called when a key has encrypted a batch of values. It must return at once.
  func whenFull(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.isFull = body } }

  /// Returns the counter of a key.
  func counter(for id: KeyID) -> Counter {
    state.withLock { state in
      if let counter = state.counters[id] { return counter }
      let counter = Counter(batch: batch) { [weak self] in self?.tell() }
      state.counters[id] = counter
      return counter
    }
  }

  private func tell() { state.withLock { $0.isFull }() }

  /// Whether so much was counted that a handle records it when it is closed.
  var isWorthRecording: Bool { state.withLock { $0.counters }.values.contains { $0.number >= max(1, batch / 16) } }

  /// Returns the counts that are not zero, and sets them to zero.
  func take() -> [(id: KeyID, count: UInt64)] {
    state.withLock { $0.counters }.map { ($0.key, $0.value.take()) }.filter { $0.1 > 0 }
  }

  /// Adds counts that could not be recorded.
  func giveBack(_ counts: [(id: KeyID, count: UInt64)]) {
    for (id, count) in counts { counter(for: id).giveBack(count) }
  }
}
