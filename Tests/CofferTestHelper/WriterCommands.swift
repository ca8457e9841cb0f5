import CofferCore
import CofferSQLite
import Foundation

/// Runs a command for processes that write concurrently; returns whether it is one.
func runAsWriter(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "hammer":
    try await hammer(
      path, durability: rest[0] == "full" ? .full : .relaxed, name: rest[1], count: Int(rest[2]) ?? 0,
      keys: Int(rest[3]) ?? 1)
  case "fail-sync": try await failSync(path)
  case "follow": try await follow(path, name: rest.first ?? "follow")
  case "poison-index": poisonIndex(path)
  case "hold-snapshot": try await holdSnapshot(path)
  default: return false
  }
  return true
}

/// Waits for a line, then commits `count` small values over `keyCount` keys as fast as it can, and prints the duration
/// in milliseconds and the largest size of the log in bytes.
private func hammer(_ path: String, durability: StoreDurability, name: String, count: Int, keys keyCount: Int)
  async throws
{
  let engine = try await SQLiteEngine.open(at: path)
  let keys = try (0..<keyCount).map { try KeyName("\(name)/\(1_000_000 + $0)") }
  let origin = StoreOrigin()
  say("ready")
  _ = readLine()
  let clock = ContinuousClock()
  let start = clock.now
  var largest = 0
  for number in 0..<count {
    let value = Data("\(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: 300)
    try await engine.commit(WriteBatch([.put(keys[number % keyCount], value)], durability: durability), from: origin)
    if number.isMultiple(of: 16) { largest = max(largest, size(of: path + "-wal")) }
  }
  let milliseconds = (clock.now - start) / .milliseconds(1)
  say("done \(Int(milliseconds)) \(largest)")
  try await engine.close()
}

/// Returns the size of a file in bytes, or 0 if it does not exist.
func size(of path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// Commits with a failing sync when a line arrives, and closes after another line.
private func failSync(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  say("ready")
  _ = readLine()
  try arm("fail:sync:1")
  await say(
    "commit",
    outcome: { try await engine.commit(WriteBatch([.put(KeyName("lost"), Data())]), from: StoreOrigin()) })
  _ = readLine()
  try await engine.close()
}

/// Executes the command in each line and prints its outcome: commit, relaxed, large, read, reopen, end.
private func follow(_ path: String, name: String) async throws {
  var engine = try await SQLiteEngine.open(at: path)
  say("ready")
  var number = 0
  while let line = readLine() {
    let key = try KeyName("\(name)/\(number)")
    let value = Data(count: line == "large" ? 5 << 20 : 1)
    let batch = WriteBatch([.put(key, value)], durability: line == "relaxed" ? .relaxed : .full)
    number += 1
    let present = engine
    switch line {
    case "commit", "relaxed", "large":
      await say(line, outcome: { try await present.commit(batch, from: StoreOrigin()) })
    case "read": await say(line, outcome: { try await present.entry(key) })
    case "reopen":
      try await engine.close()
      engine = try await SQLiteEngine.open(at: path)
      say("reopen ok")
    case "end": return try await engine.close()
    default: throw Usage()
    }
  }
  try await engine.close()
}

private func say<R>(_ what: String, outcome: () async throws -> R) async {
  do {
    _ = try await outcome()
    say("\(what) ok")
  } catch {
    say("\(what) \((error as? StorageError)?.code.description ?? "\(error)")")
  }
}

/// Blocks every read of the store until a line arrives: invalidates the index of the log, which the next reader has to
/// rebuild, and holds the lock that this requires.
private func poisonIndex(_ path: String) {
  let file = open(path + "-shm", O_RDWR)
  var lock = flock()
  (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 120, 3)
  let zeros = [UInt8](repeating: 0, count: 96)
  guard fcntl(file, F_SETLKW, &lock) == 0, pwrite(file, zeros, zeros.count, 0) == zeros.count else { return }
  say("poisoned")
  _ = readLine()
}

/// Holds a snapshot until a line arrives.
private func holdSnapshot(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  try await engine.withSnapshot { snapshot in
    _ = try await snapshot.page(prefix: nil, after: nil, limit: 1)
    say("holding")
    _ = readLine()
  }
  try await engine.close()
}
