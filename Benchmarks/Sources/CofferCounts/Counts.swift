import BenchValgrind
import Foundation

/// What one call of an operation takes, on average.
struct Cost: Codable {
  var instructions: Double
  var allocations: Double
  /// Acquisitions of locks: those of Coffer and POSIX ones.
  var locks: Double
  /// System calls of all threads.
  var calls: Double

  static var names: [(field: KeyPath<Cost, Double>, name: String)] {
    [
      (\.instructions, "instructions"), (\.allocations, "allocations"), (\.locks, "locks"), (\.calls, "system calls"),
    ]
  }
}

/// Counts what `times` calls of `body` take, in several rounds of which the second cheapest counts. The first one warms
/// up, and its counts contain what was done before. Needs valgrind.
/// - Parameter size: the operations that one call performs.
func count(
  _ operation: String, times: Int, of size: Int = 1, _ body: (Int) async throws -> Void
) async throws {
  for round in 0..<6 {
    for index in round * times..<(round + 1) * times { try await body(index) }
    write_counts("\(times * size) \(operation)")
  }
}

/// Notes why an operation is not counted.
func skip(_ operation: String, _ reason: String) { write_counts("0 \(operation): \(reason)") }

/// The costs of operations in one run, or the recorded ones.
struct Counts {
  /// The model of the processor, by which libraries choose their instructions.
  private var processor = Self.presentProcessor
  private var costs: [String: Cost] = [:]
  private var operations: [String] = []
  private var rounds: [String: [Cost]] = [:]
  private var skipped: [String: String] = [:]

  init(recordedIn file: URL) throws {
    guard FileManager.default.fileExists(atPath: file.path) else { return }
    let recorded = try JSONDecoder().decode(Recorded.self, from: Data(contentsOf: file))
    (processor, costs) = (recorded.processor, recorded.operations)
  }

  private struct Recorded: Codable {
    let processor: String
    let operations: [String: Cost]
  }

  private static var presentProcessor: String {
    let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
    return lines.first { $0.hasPrefix("model name") }?.split(separator: ": ").last.map(String.init) ?? "unknown"
  }

  /// Writes these counts, and the recorded ones of what was skipped.
  func record(in file: URL, with recorded: Counts) throws {
    let kept = recorded.costs.filter { skipped[$0.key] != nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let all = Recorded(processor: processor, operations: costs.merging(kept) { new, _ in new })
    try (encoder.encode(all) + Data("\n".utf8)).write(to: file)
  }

  // MARK: What callgrind has written

  /// Reads the files `operations.1`, `operations.2` and so on, and `get`, which counts a whole process.
  init(writtenTo directory: URL) throws {
    var number = 1
    while let text = try? String(contentsOf: directory.appendingPathComponent("operations.\(number)"), encoding: .utf8)
    {
      try add(text)
      number += 1
    }
    try add(String(contentsOf: directory.appendingPathComponent("get"), encoding: .utf8))
    costs = rounds.mapValues { Cost($0) }
  }

  private mutating func add(_ text: String) throws {
    var cost = Cost(instructions: 0, allocations: 0, locks: 0, calls: 0)
    var functions: [Substring: Function] = [:]
    var (caller, callee) = (Function.other, nil as Function?)
    var title: Substring = "1 coffer get"
    for line in text.split(separator: "\n") {
      if line.hasPrefix("fn=") || line.hasPrefix("cfn=") {
        // (12) name, and only (12) from then on
        let parts = line.drop { $0 != "(" }.split(separator: " ", maxSplits: 1)
        if parts.count == 2 { functions[parts[0]] = Function(parts[1]) }
        let function = functions[parts[0]] ?? .other
        if line.hasPrefix("c") { callee = function } else { caller = function }
      } else if line.hasPrefix("calls=") {
        let number = Double(line.dropFirst(6).prefix { $0 != " " }) ?? 0
        if callee == .allocating { cost.allocations += number }
        if callee == .locking { cost.locks += number }
      } else if line.hasPrefix("desc: Trigger: Client Request: ") {
        title = line.dropFirst(31)
      } else if let first = line.first, "+-*0123456789".contains(first) {
        // A line of the source, instructions, system calls; after a call, what the callee took, which counts there.
        let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        defer { callee = nil }
        guard callee == nil else { continue }
        cost.instructions += numbers.first ?? 0
        if caller != .waiting { cost.calls += numbers.dropFirst().first ?? 0 }
      }
    }
    let parts = title.split(separator: " ", maxSplits: 1).map(String.init)
    guard parts.count == 2, let number = Double(parts[0]), cost.instructions > 0 else {
      throw Failure("a file of callgrind has no totals, or a name that is not one of ours: \(title)")
    }
    guard number > 0 else {
      let reason = parts[1].split(separator: ": ", maxSplits: 1).map(String.init)
      skipped[reason[0]] = reason[1]
      return
    }
    if rounds[parts[1]] == nil { operations.append(parts[1]) }
    rounds[parts[1], default: []].append(cost.divided(by: number))
  }

  // MARK: The comparison

  /// Returns a sentence for each count that has grown by more than its tolerance, and for each that has become as much
  /// less.
  func compared(with recorded: Counts) -> (heavier: [String], lighter: [String]) {
    var (heavier, lighter) = ([String](), [String]())
    var fields = Cost.names
    if recorded.processor != processor {
      fields.removeAll { $0.name == "instructions" }
      print("skipped: instructions were recorded on another processor, \(recorded.processor)")
    }
    for operation in operations {
      guard let new = costs[operation] else { continue }
      guard let old = recorded.costs[operation] else {
        heavier.append("\(operation): nothing is recorded.")
        continue
      }
      for (field, name) in fields {
        let (new, old) = (new[keyPath: field], old[keyPath: field])
        let sentence = "\(operation) takes \(new.text) \(name), and \(old.text) were recorded."
        // Threads that wait or watch make a call now and then, whoever is counted.
        let tolerance = old * Self.tolerance(operation) + (name == "system calls" ? 0.5 : 0.05)
        if new > old + tolerance { heavier.append(sentence) }
        if new < old - tolerance { lighter.append(sentence) }
      }
    }
    for operation in recorded.costs.keys.sorted() where costs[operation] == nil && skipped[operation] == nil {
      heavier.append("\(operation) is recorded, and no longer counted.")
    }
    return (heavier, lighter)
  }

  /// What a commit takes depends on where its rows fall on pages and what other threads do meanwhile, and with a server
  /// what is sent together is a matter of time.
  private static func tolerance(_ operation: String) -> Double {
    if operation.hasPrefix("PostgreSQL") { return 0.5 }
    let commits = ["save", "batch", "writers", "sealed", "preference", "file", "open", "coffer get"]
    let isInMemory = ["memory engine", "router"].contains(where: operation.hasPrefix)
    return !isInMemory && commits.contains(where: operation.contains) ? 0.1 : 0.03
  }

  func printTable() {
    func line(_ first: String, _ columns: [String]) {
      let cells = columns.map { String(repeating: " ", count: max(0, 14 - $0.count)) + $0 }
      print(first.padding(toLength: 28, withPad: " ", startingAt: 0) + cells.joined())
    }
    line("operation", Cost.names.map(\.name))
    for operation in operations {
      guard let cost = costs[operation] else { continue }
      line(operation, Cost.names.map { cost[keyPath: $0.field].text })
    }
    for (operation, reason) in skipped.sorted(by: { $0.key < $1.key }) { print("skipped: \(operation): \(reason)") }
  }
}

/// What a function does, as far as it counts.
private enum Function {
  case allocating, locking, waiting, other

  init(_ name: Substring) {
    switch name.prefix(while: { $0 != "@" }) {
    case "malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc": self = .allocating
    case "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock":
      self = .locking
    // `Locked.withLock` and `withLockIfAvailable`, which are not inlined.
    case let name where name.hasPrefix("$s10CofferCore6LockedC8withLock"): self = .locking
    // Whether a thread waits is a matter of time; and without valgrind, the clock is read without a system call.
    case "__futex_abstimed_wait_common", "sem_post", "syscall", "epoll_wait", "clock_gettime", "time_syscall":
      self = .waiting
    default: self = .other
    }
  }
}

extension Cost {
  fileprivate func divided(by number: Double) -> Cost {
    func mean(_ sum: Double) -> Double { (sum / number * 100).rounded() / 100 }
    return Cost(
      instructions: mean(instructions).rounded(), allocations: mean(allocations), locks: mean(locks), calls: mean(calls)
    )
  }

  /// Returns the second lowest of each count in several rounds: what other threads do in between adds to it, and
  /// callgrind rarely misses something.
  fileprivate init(_ rounds: [Cost]) {
    func low(_ field: KeyPath<Cost, Double>) -> Double {
      rounds.map { $0[keyPath: field] }.sorted().prefix(2).last ?? 0
    }
    self.init(
      instructions: low(\.instructions), allocations: low(\.allocations), locks: low(\.locks), calls: low(\.calls))
  }
}

extension Double {
  fileprivate var text: String { self == rounded() ? String(Int(self)) : String(self) }
}
