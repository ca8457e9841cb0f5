import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import Foundation

/// `postgresql-work LOCATION NAME WRITERS` reads and writes with several writers until a line arrives, and prints what
/// each was told: `ack ID REVISION`, `refused ID` or `unknown ID` for commits of keys of its own, and `op JSON` for
/// operations on keys that all share.
func runOnPostgreSQL(_ command: String, _ location: String, _ rest: [String]) async throws -> Bool {
  guard command == "postgresql-work" else { return false }
  var configuration = PostgreSQLEngine.Configuration()
  configuration.connectTimeout = .seconds(1)
  configuration.answerTimeout = .seconds(2)
  configuration.journalRetention = 10_000_000
  let engine = try await PostgreSQLEngine.open(location, configuration: configuration)
  let isDone = Locked(false)
  Thread.detachNewThread {
    _ = readLine()
    isDone.withLock { $0 = true }
  }
  say("ready")
  await withTaskGroup(of: Void.self) { group in
    for writer in 0..<(Int(rest[1]) ?? 1) {
      // Few share keys: with many blind writes at once, there are too many orders to try.
      let writer = PostgreSQLWriter(engine: engine, name: "\(rest[0]).\(writer)", shares: writer < 2)
      group.addTask { await writer.work(until: isDone) }
    }
  }
  try await engine.close()
  say("done")
  return true
}

private struct PostgreSQLWriter {
  let engine: PostgreSQLEngine
  let name: String
  let shares: Bool

  func work(until isDone: Locked<Bool>) async {
    var number = 0
    while !isDone.withLock({ $0 }) {
      number += 1
      if shares, number.isMultiple(of: 2) { await share(number) } else { await commitAlone(number) }
    }
  }

  /// Commits a key of its own.
  private func commitAlone(_ number: Int) async {
    let transaction = TransactionID()
    do {
      let key = try KeyName("own/\(name)/\(number % 5)")
      var batch = WriteBatch([.put(key, Data("\(number)".utf8))], transaction: transaction)
      if number.isMultiple(of: 2) { batch.require("never", at: nil) }
      let commit = try await engine.commit(batch, from: StoreOrigin())
      say("ack \(transaction) \(commit.revision)")
    } catch {
      await tell(error, "\(transaction)")
    }
  }

  private func tell(_ error: any Error, _ id: String) async {
    switch (error as? StorageError)?.code {
    case .outcomeUnknown?: say("unknown \(id)")
    case .unavailable?, .busy?:
      say("refused \(id)")
      // Not the system's generator: it has no bytes, and the thread sanitizer takes its address for shared memory.
      var random = SeededGenerator(seed: .random(in: 0 ... .max))
      try? await suspend(upTo: .milliseconds(40), using: &random)
    default: say("failed \(id) \(error)")
    }
  }

  /// Reads a key that all writers share, and returns its value and revision.
  private func read(_ key: KeyName, into history: OperationHistory) async throws -> (String?, StoreRevision?) {
    let start = OperationHistory.Operation.now()
    let entry = try await engine.entry(key)
    let found = entry.map { String(decoding: $0.value, as: UTF8.self) }
    history.add(
      OperationHistory.Operation(
        client: name, key: key.string, .read(found), .done, start: start, end: OperationHistory.Operation.now()))
    return (found, entry?.revision)
  }

  /// Reads, replaces or removes a key that all writers share.
  private func share(_ number: Int) async {
    let history = OperationHistory()
    let name = "shared/\(number / 2 % 7)"
    guard let key = try? KeyName(name) else { return }
    do {
      let (found, revision) = try await read(key, into: history)
      let value = number.isMultiple(of: 16) ? nil : "\(self.name)-\(number)"
      let operation: WriteBatch.Operation = value.map { .put(key, Data($0.utf8)) } ?? .delete(key)
      let isExchange = !number.isMultiple(of: 12)
      let batch = WriteBatch(isExchange ? [.require(key, revision), operation] : [operation])
      try await history.record(
        client: self.name, key: name, isExchange ? .exchange(expected: found, new: value) : .write(value)
      ) {
        try await engine.commit(batch, from: StoreOrigin())
      } outcome: { error in
        switch (error as? StorageError)?.code {
        case .outcomeUnknown?: .unknown
        case .preconditionFailed?: .refused
        default: .failed
        }
      }
      // What was just written must be seen.
      _ = try await read(key, into: history)
    } catch let error as StorageError where error.code == .preconditionFailed {
    } catch {
      await tell(error, "-")
    }
    // A refusal compares revisions, not values: the same value may have been put again, or removed, meanwhile.
    for line in history.operations.filter({ $0.outcome != .refused }).compactMap(\.line) { say("op \(line)") }
  }
}
