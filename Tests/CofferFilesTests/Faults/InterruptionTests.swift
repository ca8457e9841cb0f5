import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Interruptions within one process: cancelled tasks, closed handles, a recovery in progress.
@Suite(.blocking, .serialized) struct InterruptionTests {
  private func put(_ engine: SlotEngine, _ key: String) async throws {
    try await engine.commit(
      WriteBatch([.put(KeyName(key), Data(key.utf8)), .put(KeyName("and-\(key)"), Data(key.utf8))]),
      from: StoreOrigin())
  }

  /// Checks that the store contains exactly the acknowledged batches, each complete.
  private func check(_ directory: StoreDirectory, _ acknowledged: Set<String>) async throws {
    let engine = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    let expected = acknowledged.flatMap { [($0, $0), ("and-\($0)", $0)] }
    #expect(try await values(engine) == Dictionary(uniqueKeysWithValues: expected))
    #expect(try directory.contents().count == expected.count)
    #expect(engine.latestRevision.rawValue == UInt64(acknowledged.count))
    try await engine.close()
  }

  @Test func aCancelledCommitHasHappenedOrNot() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    var random = SeededGenerator(seed: 20_261_123)
    var acknowledged: Set<String> = []
    var cancelled = 0
    for round in 0..<40 {
      let tasks = (0..<5).map { index in Task { try await put(engine, "key-\(round)-\(index)") } }
      try await suspend(upTo: .microseconds(1_500), using: &random)
      for task in tasks { task.cancel() }
      for (index, task) in tasks.enumerated() {
        do {
          try await task.value
          acknowledged.insert("key-\(round)-\(index)")
        } catch is CancellationError {
          cancelled += 1
        }
      }
    }
    #expect(try directory.names(in: "staged") == [])
    print("cancelled \(cancelled) of 200 commits over files")
    try await engine.close()
    try await check(directory, acknowledged)
  }

  @Test func aCommitBesideACloseHasHappenedOrNot() async throws {
    for _ in 0..<10 {
      let directory = try StoreDirectory()
      let engine = try await directory.open()
      let tasks = (0..<8).map { task in
        Task { () -> [String] in
          var acknowledged: [String] = []
          for index in 0..<1_000 {
            do {
              try await put(engine, "key-\(task)-\(index)")
              acknowledged.append("key-\(task)-\(index)")
            } catch let error as StorageError {
              #expect(error.code == .closed, "\(error)")
              return acknowledged
            }
          }
          return acknowledged
        }
      }
      try await eventually("the tasks commit") { engine.latestRevision > .zero }
      try await engine.close()
      var acknowledged: Set<String> = []
      for task in tasks { acknowledged.formUnion(try await task.value) }
      #expect(acknowledged.count < 8_000)
      #expect(try directory.names(in: "staged") == [])
      try await check(directory, acknowledged)
    }
  }

  /// A handle that is released without being closed loses nothing and leaves nothing behind.
  @Test func aForgottenHandleLeavesNothingBehind() async throws {
    let directory = try StoreDirectory()
    for index in 0..<20 {
      let engine = try await directory.open()
      try await put(engine, "key-\(index)")
    }
    try await check(directory, Set((0..<20).map { "key-\($0)" }))
    #expect(try directory.names(in: "owners") == [])
  }

  /// A program exits without a crash while its other threads store and read values with hashed names.
  @Test func aProcessThatExitsInTheMiddleExitsCleanly() async throws {
    let directory = try await StoreDirectory.filled()
    for round in 0..<20 {
      let helper = try directory.run("files-exit")
      #expect(try helper.lines() == [])
      #expect(helper.wait() == 0, "round \(round)")
      #expect(helper.process.terminationReason == .exit, "round \(round)")
    }
    let engine = try await directory.open { $0.onRecovery = { #expect($0.edited == 0) } }
    for (key, value) in FileScenario.before {
      #expect(try await engine.entry(KeyName(key))?.value == Data(value.utf8))
    }
    try await engine.close()
  }

  /// A store that was opened without waiting is read while a killed writer's batch is still being rolled forward.
  @Test func readsDuringARecoveryFindTheNewValues() async throws {
    for step in 6...13 {
      let directory = try await StoreDirectory.filled()
      let lines = try directory.run("files-commit", "\(step)").lines()
      let engine = try SlotEngine.filesBlocking(in: directory.url)
      for (key, value) in FileScenario.after {
        let entry = try await engine.entry(KeyName(key))
        #expect(entry?.value == Data(value.utf8), "\(key.prefix(8)) after \(lines.last ?? "")")
      }
      for key in ["gone", "list/1", "list/3"] {
        #expect(try await engine.entry(KeyName(key)) == nil, "\(key) after \(lines.last ?? "")")
      }
      try await engine.close()
      _ = try await Aftermath(directory: directory, comment: "step \(step)").check(mustBeNew: true)
    }
  }
}
