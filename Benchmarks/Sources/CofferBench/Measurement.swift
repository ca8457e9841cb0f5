import Foundation

/// A row of the table and of `results.json`.
struct Row: Encodable {
  let operation: String
  let subject: String
  let medianMicroseconds: Double
  let p99Microseconds: Double
  let operationsPerSecond: Double
  let limitOperation: String?
  let limitSubject: String?
  let ratio: Double?
  /// The resident memory in bytes, if it was measured.
  var residentBytes: Int?

  enum CodingKeys: String, CodingKey {
    case operation, subject, ratio
    case medianMicroseconds = "median_us"
    case p99Microseconds = "p99_us"
    case operationsPerSecond = "ops_per_s"
    case limitOperation = "limit_operation"
    case limitSubject = "limit_subject"
    case residentBytes = "resident_bytes"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(operation, forKey: .operation)
    try container.encode(subject, forKey: .subject)
    try container.encode(medianMicroseconds, forKey: .medianMicroseconds)
    try container.encode(p99Microseconds, forKey: .p99Microseconds)
    try container.encode(operationsPerSecond, forKey: .operationsPerSecond)
    try container.encode(limitOperation, forKey: .limitOperation)  // null where there is none
    try container.encode(limitSubject, forKey: .limitSubject)
    try container.encode(ratio, forKey: .ratio)
    try container.encodeIfPresent(residentBytes, forKey: .residentBytes)
  }
}

/// The row that a result is compared with, and the limits it must hold.
struct Limit {
  var operation: String?
  var subject: String?
  var maximumRatio: Double?
  var maximumMicroseconds: Double?
  var maximumAddedMicroseconds: Double?
  /// What is accepted in the stead of the maximum, in its unit: more than the aim, for reasons that
  /// `docs/performance.md` states with what was tried. `--check` fails above it, and prints what lies between.
  var accepted: Double?
  /// Whether the limits in microseconds are for work of the processor alone. They are those of the machine on which
  /// they were agreed, and are multiplied by ``Bench/slowness``.
  var isProcessorTime = false
}

/// A subject to measure. `run` performs `count` operations, numbered from `first`, and returns the duration of each in
/// seconds, or of equal groups of them.
struct Variant {
  let subject: String
  var limit = Limit()
  let run: (_ first: Int, _ count: Int) async throws -> [Double]
}

/// A benchmark that measures variants alternately, so that a slow phase of the machine affects all of them, and that
/// discards the first round.
struct Bench {
  /// How many times the rounds are run until all limits are held. What counts are the medians of all of them, not the
  /// best: a phase in which the machine is slow is outvoted, and a change that is slower stays slower.
  static let attempts = 3

  private(set) var rows: [Row] = []
  private(set) var failures: [String] = []
  /// The rows that miss their aims and are accepted.
  private(set) var misses: [String] = []
  /// How many times as long this processor takes for one value of 200 B as the one on which limits were agreed, where
  /// OpenSSL took 0.59 µs; at least 1.
  private(set) var slowness = 1.0

  mutating func noteProcessor(_ row: Row) { slowness = max(1, row.medianMicroseconds / 0.59) }

  mutating func measure(_ operation: String, rounds: Int = 5, count: Int, _ variants: [Variant]) async throws {
    var samples = variants.map { _ in [Double]() }
    var medians = variants.map { _ in [Double]() }
    let before = self
    for round in 0...(rounds * Self.attempts) {
      // The order alternates, so that no variant always follows the same one.
      let order = round.isMultiple(of: 2) ? Array(variants.indices) : variants.indices.reversed()
      for index in order {
        let times = try await variants[index].run(round * count, count)
        guard round > 0 else { continue }
        samples[index] += times
        medians[index].append(times.median)
      }
      guard round > 0, round.isMultiple(of: rounds) else { continue }
      self = before
      for (index, variant) in variants.enumerated() {
        add(operation, variant, median: medians[index].median * 1e6, p99: samples[index].percentile(0.99) * 1e6)
      }
      if failures.count == before.failures.count { return }
    }
  }

  /// Adds a row with the resident memory of a subject besides its durations.
  mutating func add(
    _ operation: String, _ subject: String, _ times: [Double], residentBytes: Int, maximumResidentBytes: Int,
    _ limit: Limit = Limit()
  ) {
    add(
      operation, Variant(subject: subject, limit: limit) { _, _ in [] }, median: times.median * 1e6,
      p99: times.percentile(0.99) * 1e6)
    rows[rows.count - 1].residentBytes = residentBytes
    guard residentBytes > maximumResidentBytes else { return }
    failures.append("\(operation) \(subject): \(residentBytes >> 10) KiB are above \(maximumResidentBytes >> 10)")
  }

  private mutating func add(_ operation: String, _ variant: Variant, median: Double, p99: Double) {
    let limit = variant.limit
    let peer = limit.subject.flatMap { subject in
      rows.first { $0.operation == limit.operation ?? operation && $0.subject == subject }
    }
    let ratio = peer.map { median / $0.medianMicroseconds }
    rows.append(
      Row(
        operation: operation, subject: variant.subject, medianMicroseconds: median, p99Microseconds: p99,
        operationsPerSecond: 1e6 / median, limitOperation: limit.subject == nil ? nil : limit.operation ?? operation,
        limitSubject: limit.subject, ratio: ratio))
    let row = "\(operation) \(variant.subject)"
    if let ratio { compare(row, "ratio", ratio, limit.maximumRatio, limit.accepted) }
    let scale = limit.isProcessorTime ? slowness : 1
    let (added, total) = (limit.maximumAddedMicroseconds, limit.maximumMicroseconds)
    let accepted = limit.accepted.map { $0 * scale }
    if let peer {
      compare(row, "µs more than \(peer.subject)", median - peer.medianMicroseconds, added.map { $0 * scale }, accepted)
    }
    compare(row, "µs", median, total.map { $0 * scale }, accepted)
  }

  private mutating func compare(_ row: String, _ unit: String, _ value: Double, _ aim: Double?, _ accepted: Double?) {
    guard let aim, value > aim else { return }
    let sentence = "\(row): \(value.short) \(unit) is above \(aim.short)"
    if let accepted, value <= accepted {
      misses.append("\(sentence), within \(accepted.short)")
    } else {
      failures.append(accepted.map { "\(sentence), and above \($0.short)" } ?? sentence)
    }
  }

  mutating func fail(_ sentence: String) { failures.append(sentence) }
}

extension [Double] {
  var median: Double { percentile(0.5) }

  func percentile(_ fraction: Double) -> Double {
    guard !isEmpty else { return .nan }
    let sorted = sorted()
    return sorted[Swift.min(count - 1, Int(Double(count) * fraction))]
  }
}

extension Double {
  var short: String { String(format: self < 10 ? "%.2f" : "%.1f", self) }
}

/// Returns the seconds of a monotonic clock that all processes share.
func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// Returns the duration of each operation in seconds.
func each(_ first: Int, _ count: Int, _ body: (Int) async throws -> Void) async rethrows -> [Double] {
  var times: [Double] = []
  times.reserveCapacity(count)
  for index in first..<(first + count) {
    let start = now()
    try await body(index)
    times.append(now() - start)
  }
  return times
}

/// Returns the mean duration in each group of operations, for operations too short to be timed individually.
func grouped(_ first: Int, _ count: Int, by size: Int, _ body: (Int) async throws -> Void) async rethrows -> [Double] {
  var times: [Double] = []
  for group in stride(from: first, to: first + count, by: size) {
    let start = now()
    for index in group..<(group + size) { try await body(index) }
    times.append((now() - start) / Double(size))
  }
  return times
}
