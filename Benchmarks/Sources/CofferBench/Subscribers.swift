import Coffer
import Foundation

/// Measures 1,000 subscribers to one preference: the time until all of them have received a change, and their resident
/// memory while they wait for the next one. Each has its own task and has read the value once; a task that waits for a
/// plain `AsyncStream` alone takes 1.7 KiB.
func measureSubscribers(_ bench: inout Bench, _ engines: BenchEngines) async throws {
  let engine = try await engines.open(.prefs, "subscribers")
  let store = TypedStore(engine: engine)
  let key = KeyName("theme")
  try await store.save(String(repeating: "dark", count: 250), for: key)
  // Warms up connections, threads and the allocator before memory is measured.
  let first = Audience()
  first.join(200, store, key)
  try await first.hear(1)
  await first.leave()

  let audience = Audience()
  let before = try residentBytes()
  audience.join(1_000, store, key)
  try await audience.hear(1)
  let times = try await each(0, 20) { index in
    try await store.save(String(repeating: "light", count: 200) + "\(index)", for: key)
    try await audience.hear(index + 2)
  }
  let grown = max(0, try residentBytes() - before)
  await audience.leave()
  bench.add("subscribers.prefs", "coffer.prefs", times, residentBytes: grown, maximumResidentBytes: 8 << 20)
  try await engine.close()
}

/// Subscribers to the values of one key.
private final class Audience: @unchecked Sendable {
  private let lock = NSLock()  // guards everything below
  private var rounds: [Int] = []
  private var tasks: [Task<Void, Never>] = []
  private var failure: (any Error)?

  func join(_ count: Int, _ store: TypedStore, _ key: KeyName) {
    for _ in 0..<count {
      let number = lock.withLock {
        rounds.append(0)
        return rounds.count - 1
      }
      let task = Task { [self] in
        do {
          for await _ in store.values(of: key, as: String.self) { lock.withLock { rounds[number] += 1 } }
        } catch {
          lock.withLock { failure = error }
        }
      }
      lock.withLock { tasks.append(task) }
    }
  }

  /// Waits until every subscriber has read `count` values; a value that is replaced quickly may be read twice.
  func hear(_ count: Int) async throws {
    while true {
      if let failure = lock.withLock({ () -> (any Error)? in self.failure }) { throw failure }
      if lock.withLock({ () -> Bool in rounds.allSatisfy { $0 >= count } }) { return }
      try await Task.sleep(for: .microseconds(200))
    }
  }

  func leave() async {
    let tasks = lock.withLock { () -> [Task<Void, Never>] in self.tasks }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}

/// Returns the resident memory of this process in bytes, without mapped files.
private func residentBytes() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
    let kilobytes = line.split(separator: " ").compactMap({ Int($0) }).first
  else { throw Failure("/proc/self/status has no RssAnon") }
  return kilobytes << 10
}
