// A process that tests kill, block and observe. Usage: CofferTestHelper COMMAND STORE [ARGUMENT...]
// It prints one line for each step, unbuffered, so that the output of a killed process is complete.

import CofferCore
import CofferFiles
import CofferSQLite
import CofferTesting
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
Thread.detachNewThread { endWithTheTest() }
do {
  guard arguments.count >= 2 else { throw Usage() }
  try await run(arguments[0], store: arguments[1], rest: Array(arguments.dropFirst(2)))
} catch let error as StorageError {
  say("error \(error.code) \(error.description)")
  exit(1)
} catch {
  say("error \(error)")
  exit(2)
}

struct Usage: Error {}

/// Exits when the test closes its end of standard input, since a killed test cannot terminate its helpers.
func endWithTheTest() {
  var input = pollfd(fd: STDIN_FILENO, events: 0, revents: 0)
  while poll(&input, 1, -1) < 0, errno == EINTR {}
  if input.revents & Int16(POLLHUP) != 0 { _exit(3) }
}

/// Prints a line directly to the descriptor, since a buffer would be lost with the process.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

func run(_ command: String, store: String, rest: [String]) async throws {
  switch command {
  case "write": try await writePairs(to: try await SQLiteEngine.open(at: store, configuration: .patient), rest)
  case "read-pairs":
    try await readPairs(of: try await SQLiteEngine.open(at: store), rest[0], count: Int(rest[1]) ?? 0)
  case "die-before-bell": try await dieBeforeBell(store)
  case "increment":
    try await increment(try await SQLiteEngine.open(at: store, configuration: .patient), count: Int(rest[0]) ?? 0)
  case "restore": try await restoreAndDie(store, from: rest[0], at: rest[1], takesOver: rest.count > 2)
  case "hold-open": try await holdOpen(store)
  case "hold-lock": try await holdLock(store)
  case "armed-commit": try await armedCommit(store, fault: rest[0], count: rest.count > 1 ? Int(rest[1]) ?? 4 : 4)
  case "armed-flush": try await armedFlush(store, fault: rest[0])
  case "armed-schema-flush": try await armedSchemaFlush(store, fault: rest[0])
  case "sing":
    try await sing(rest[0], store, voice: UInt8(rest[1]) ?? 0, of: Int(rest[2]) ?? 1, count: Int(rest[3]) ?? 0)
  default:
    if try await runOnPostgreSQL(command, store, rest) { return }
    if try await runOnFamilies(command, store, rest) { return }
    if try await runAsWriter(command, store, rest) { return }
    if try await runTransactions(command, store, rest) { return }
    if try await runOnSchemas(command, store, rest) { return }
    if try await runWriteBack(command, store, rest) { return }
    if try await runOnDamage(command, store, rest) { return }
    if try await runOnSlots(command, store, rest) { return }
    if try await runOnFiles(command, store, rest) { return }
    if try await runOnPreferences(command, store, rest) { return }
    if try await runOnSettings(command, store, rest) { return }
    if try await runClients(command, store, rest) { return }
    if try await runOnEncryptedStores(command, store, rest) { return }
    if try await runRotation(command, store, rest) { return }
    if try await runImport(command, store, rest) { return }
    if try await runOnAnchors(command, store, rest) { return }
    if try await runOnExpiry(command, store, rest) { return }
    if try await runSweep(command, store, rest) { return }
    if try await runPowerLoss(command, store, rest) { return }
    if try await runOnRouter(command, store) { return }
    if try await runKeyMigration(command, store, rest) { return }
    if try runOnEnvelopes(command, store) { return }
    if try await runOnKeys(command, store, rest) { return }
    guard try await runOnSecrets(command, store, rest) else { throw Usage() }
  }
}

/// Commits numbered pairs, `count` of them or without end: "begin N", commit, "ack N". A pair is one batch.
func writePairs(to engine: any StorageEngine, _ rest: [String]) async throws {
  let durability: StoreDurability = rest.first == "full" ? .full : .relaxed
  let name = rest.count > 1 ? rest[1] : "p"
  let count = rest.count > 2 ? Int(rest[2]) ?? .max : .max
  let origin = StoreOrigin()
  var number = 0
  while number < count {
    let value = Data("\(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: 200)
    let batch = WriteBatch(
      [.put(try KeyName("\(name)/left/\(number)"), value), .put(try KeyName("\(name)/right/\(number)"), value)],
      durability: durability)
    say("begin \(number)")
    _ = try await engine.commit(batch, from: origin)
    say("ack \(number)")
    number += 1
  }
  try await engine.close()
}

/// Reads the values stored by ``writePairs(to:_:)`` and prints "right", "wrong", "absent" or "damaged" for each key.
func readPairs(of engine: any StorageEngine, _ name: String, count: Int) async throws {
  for number in 0..<count {
    for side in ["left", "right"] {
      do {
        switch try await engine.entry(KeyName("\(name)/\(side)/\(number)"))?.value {
        case nil: say("absent")
        case Data("\(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: 200): say("right")
        default: say("wrong")
        }
      } catch let error as StorageError where error.code == .damaged {
        say("damaged")
      }
    }
  }
}

/// Commits once and kills itself between the commit and its announcement.
func dieBeforeBell(_ path: String) async throws {
  var configuration = SQLiteEngine.Configuration()
  configuration.afterCommit = { _ in kill(getpid(), SIGKILL) }
  let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
  say("ready")
  _ = readLine()
  _ = try await engine.commit(WriteBatch([.put(KeyName("silent"), Data("x".utf8))]), from: StoreOrigin())
  say("never said")
}

/// Increments a counter `count` times by compare and set, concurrently with other processes.
func increment(_ engine: any StorageEngine, count: Int) async throws {
  let key = KeyName("counter")
  let origin = StoreOrigin()
  var done = 0
  while done < count {
    let entry = try await engine.entry(key)
    let number = entry.flatMap { Int(String(decoding: $0.value, as: UTF8.self)) } ?? 0
    let batch = WriteBatch(
      [.require(key, entry?.revision), .put(key, Data("\(number + 1)".utf8))], durability: .relaxed)
    do {
      _ = try await engine.commit(batch, from: origin)
      done += 1
    } catch let error as StorageError where error.code == .preconditionFailed {
      continue
    }
  }
  try await engine.close()
}

/// Restores a backup over a store and kills itself at the given step, if that is reached.
func restoreAndDie(_ path: String, from backup: String, at step: String, takesOver: Bool) async throws {
  var options = RestoreOptions()
  options.takesOver = takesOver
  options.atStep = { reached in
    say("step \(reached.rawValue)")
    if reached.rawValue == step { kill(getpid(), SIGKILL) }
  }
  let report = try await SQLiteEngine.restore(from: backup, to: path, options: options)
  say("restored \(report.revision)")
}

/// Keeps a store open until a line arrives, then commits until a commit fails, and prints the outcome.
func holdOpen(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  _ = try await engine.entry(KeyName("k"))
  say("open")
  _ = readLine()
  do {
    try await eventually("a commit fails") {
      _ = try await engine.commit(WriteBatch([.put(KeyName("other"), Data("x".utf8))]), from: StoreOrigin())
      return false
    }
  } catch let error as StorageError {
    say("ended \(error.code)")
  }
  try? await engine.close()
}

/// Holds the write lock until a line arrives.
func holdLock(_ path: String) async throws {
  let database = SQLiteDatabase(engine: try await SQLiteEngine.open(at: path))
  try await database.write { transaction in
    try transaction.put(KeyName("held"), Data())
    say("holding")
    _ = readLine()
  }
  try await database.engine.close()
}

/// Arms the preloaded fault library with a fault.
func arm(_ fault: String) throws {
  guard let symbol = dlsym(nil, "coffer_fault_arm") else { throw Usage() }
  let arm = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>) -> Void).self)
  fault.withCString { arm($0) }
}

/// Disarms the fault and returns whether it has occurred.
func disarm() throws -> Bool {
  guard let symbol = dlsym(nil, "coffer_fault_disarm") else { throw Usage() }
  return unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)() != 0
}

/// Makes a relaxed change of the schema alone, then flushes, which must sync.
func armedSchemaFlush(_ path: String, fault: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  let revision = engine.latestRevision
  try await SQLiteDatabase(engine: engine).write(durability: .relaxed) {
    try $0.execute("CREATE TABLE own (a INTEGER)")
  }
  say(engine.latestRevision == revision ? "no commit of keys" : "a commit of keys")
  try await armedFlush(engine, fault)
}

/// Makes a relaxed commit, then a full one that writes and syncs nothing, then flushes, which must sync.
func armedFlush(_ path: String, fault: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  let origin = StoreOrigin()
  let key = KeyName("k")
  _ = try await engine.commit(WriteBatch([.put(key, Data("1".utf8))]), from: origin)
  _ = try await engine.commit(WriteBatch([.put(key, Data("2".utf8))], durability: .relaxed), from: origin)
  _ = try? await engine.commit(WriteBatch([.require(key, nil), .delete(key)]), from: origin)
  try await armedFlush(engine, fault)
}

private func armedFlush(_ engine: SQLiteEngine, _ fault: String) async throws {
  try arm(fault)
  do {
    try await engine.flush()
    say("flushed")
  } catch let error as StorageError {
    say("flush \(error.code)")
  }
  try await engine.close()
}

/// Commits a value, arms the preloaded fault library, makes `count` further commits and reopens the store.
func armedCommit(_ path: String, fault: String, count: Int) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  let origin = StoreOrigin()
  _ = try await engine.commit(WriteBatch([.put(KeyName("before"), Data("1".utf8))]), from: origin)
  say("ack before")
  try arm(fault)
  for number in 0..<count {
    say("begin \(number)")
    do {
      _ = try await engine.commit(
        WriteBatch([
          .put(try KeyName("left/\(number)"), Data("x".utf8)), .put(try KeyName("right/\(number)"), Data("x".utf8)),
        ]),
        from: origin)
      say("ack \(number)")
    } catch let error as StorageError {
      say("failed \(number) \(error.code)")
    }
  }
  do {
    _ = try await engine.entry(KeyName("before"))
    say("read ok")
  } catch let error as StorageError {
    say("read \(error.code)")
  }
  try await engine.close()
  let again = try await SQLiteEngine.open(at: path)
  let entry = try await again.entry(KeyName("before"))
  say("reopened \(entry == nil ? "empty" : "whole")")
  try await again.close()
}
