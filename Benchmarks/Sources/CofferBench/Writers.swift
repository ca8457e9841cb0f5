import BenchSQLite
import Coffer
import Foundation

/// Measures three processes that write to one store, against plain SQLite with the same rows and default checkpoints.
func measureWriters(_ bench: inout Bench, _ directory: URL) async throws {
  for durability in ["full", "relaxed"] {
    let count = durability == "full" ? 1_000 : 5_000
    let log = LargestLog()
    func variant(_ subject: String, _ limit: Limit = Limit()) -> Variant {
      Variant(subject: subject, limit: limit) { first, _ in
        let folder = directory.appendingPathComponent("writers-\(durability)-\(subject)-\(first)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let report = try writeTogether(subject, folder.appendingPathComponent("store.db").path, durability, count)
        if subject.hasPrefix("coffer") { log.bytes = max(log.bytes, report.log) }
        try FileManager.default.removeItem(at: folder)
        return [report.seconds / Double(3 * count)]
      }
    }
    try await bench.measure(
      "put.\(durability).3processes", count: 3 * count,
      [variant("sqlite.c"), variant("coffer.sqlite", Limit(subject: "sqlite.c", maximumRatio: 1, accepted: 1.3))])
    print("put.\(durability).3processes: the log had \(log.bytes >> 10) KiB at most")
    if log.bytes >= 16 << 20 { bench.fail("put.\(durability).3processes: the log had \(log.bytes) bytes") }
  }
}

/// The largest size of the log in all rounds, in bytes; never accessed concurrently.
private final class LargestLog {
  var bytes = 0
}

/// Runs three writers and returns the time from the first commit to the last, and the largest size of the log.
private func writeTogether(
  _ subject: String, _ path: String, _ durability: String, _ count: Int
) throws -> (seconds: Double, log: Int) {
  // Creates the store before the measurement.
  _ = try child(["together", subject, path, durability, "0", "1", "0"])
  let start = now() + 1
  let results = Results()
  DispatchQueue.concurrentPerform(iterations: 3) { number in
    let output = try? child(["together", subject, path, durability, "\(number)", "\(count)", "\(start)"])
    results.add(output?.output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) } ?? [])
  }
  guard results.all.count == 3, results.all.allSatisfy({ $0.count == 2 }) else { throw Failure("a writer has failed") }
  let end = results.all.map { $0[0] }.reduce(start, max)
  return (end - start, Int(results.all.map { $0[1] }.reduce(0, max)))
}

/// The output of the writers, guarded by a lock.
private final class Results: @unchecked Sendable {
  private let lock = NSLock()
  private(set) var all: [[Double]] = []
  func add(_ numbers: [Double]) { lock.withLock { all.append(numbers) } }
}

/// Writes from the given start time on, then prints the end time and the largest size of the log.
func runTogetherChild(_ arguments: [String]) async throws {
  let (subject, path, durability) = (arguments[1], arguments[2], arguments[3])
  let (number, count, start) = (Int(arguments[4]) ?? 0, Int(arguments[5]) ?? 0, Double(arguments[6]) ?? 0)
  let values = try Values(count: 1_000)
  var largest = 0
  func slot(_ index: Int) -> Int { (values.slot(index) + number * 333) % values.count }
  func watch(_ index: Int) {
    var status = stat()
    if index.isMultiple(of: 16), stat(path + "-wal", &status) == 0 { largest = max(largest, Int(status.st_size)) }
  }
  func waitForStart() { while now() < start { usleep(100) } }
  if subject == "sqlite.c" {
    let database = try SQLiteByHand(path, synchronous: durability == "full" ? "FULL" : "NORMAL")
    database.sharesWithOthers()
    waitForStart()
    for index in 0..<count {
      database.transact { database.write(values.names[slot(index)], Values.bytes(index)) }
      watch(index)
    }
    print(now(), largest)
  } else {
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 60_000
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    let origin = StoreOrigin()
    waitForStart()
    for index in 0..<count {
      let batch = WriteBatch(
        [.put(values.keys[slot(index)], Data(Values.bytes(index)))], durability: durability == "full" ? .full : .relaxed
      )
      _ = try await engine.commit(batch, from: origin)
      watch(index)
    }
    print(now(), largest)
    try await engine.close()
  }
}
