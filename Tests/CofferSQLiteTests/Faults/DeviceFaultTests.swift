import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of failing and full devices.
@Suite(.blocking, .serialized) struct DeviceFaultTests {
  /// After a failed sync the contents of the device are unknown: the caller receives an error and the store closes.
  @Test(.enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
  func aFailedSyncIsNeverAskedAgain() async throws {
    let directory = try TemporaryDirectory()
    let helper = try HelperProcess(
      ["armed-commit", directory.path("store.db"), "fail:sync:1"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    let lines = try helper.lines()
    #expect(
      lines == [
        "ack before", "begin 0", "failed 0 outcomeUnknown", "begin 1", "failed 1 closed", "begin 2", "failed 2 closed",
        "begin 3", "failed 3 closed", "read closed", "reopened whole",
      ])
    #expect(helper.wait() == 0)
  }

  /// Covers the sync of a commit and that of extending the log, which a busy process does once.
  @Test(
    .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"), arguments: 28...36)
  func nothingIsAcknowledgedAfterAFailedSync(step: Int) async throws {
    let directory = try TemporaryDirectory()
    let helper = try HelperProcess(
      ["armed-commit", directory.path("store.db"), "fail:sync:\(step)", "40"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    let lines = try helper.lines()
    let failure = try #require(lines.firstIndex { $0.hasSuffix("outcomeUnknown") }, "\(lines)")
    #expect(!lines[failure...].contains { $0.hasPrefix("ack") }, "\(lines)")
    #expect(lines.suffix(2) == ["read closed", "reopened whole"])
    #expect(helper.wait() == 0)
  }

  @Test(.enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
  func aFlushSyncsEvenAfterAFullCommitThatWroteNothing() async throws {
    let directory = try TemporaryDirectory()
    let helper = try HelperProcess(
      ["armed-flush", directory.path("store.db"), "fail:sync:1"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    #expect(try helper.lines() == ["flush outcomeUnknown"])
  }

  @Test(.enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
  func aFlushSyncsAChangeOfTheSchemaAlone() async throws {
    let directory = try TemporaryDirectory()
    let helper = try HelperProcess(
      ["armed-schema-flush", directory.path("store.db"), "fail:sync:1"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    #expect(try helper.lines() == ["no commit of keys", "flush outcomeUnknown"])
  }

  /// A failed write fails its commit only; the next commit succeeds.
  @Test(
    .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"), arguments: 1...12)
  func aFailedWriteFailsOneCommit(step: Int) async throws {
    let directory = try TemporaryDirectory()
    let helper = try HelperProcess(
      ["armed-commit", directory.path("store.db"), "fail:pwrite:\(step)"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    let lines = try helper.lines()
    #expect(helper.wait() == 0, "\(lines)")
    let failed = lines.filter { $0.hasPrefix("failed") }
    #expect(failed.count <= 1, "\(lines)")
    #expect(failed.allSatisfy { $0.hasSuffix("inputOutput") || $0.hasSuffix("diskFull") }, "\(lines)")
    #expect(lines.suffix(2) == ["read ok", "reopened whole"], "\(lines)")
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    for number in 0..<4 {
      let isThere = try await engine.entry(KeyName("left/\(number)")) != nil
      let both = try await engine.entry(KeyName("right/\(number)")) != nil
      #expect(isThere == both)
      if lines.contains("ack \(number)") { #expect(isThere) }
      if lines.contains(where: { $0.hasPrefix("failed \(number)") }) { #expect(!isThere) }
    }
    try await engine.close()
  }

  /// Fills a real file system of 8 MB.
  @Test(.enabled(if: getuid() == 0, "mounting a small file system needs root"))
  func aFullDiskLosesNothing() async throws {
    let directory = try TemporaryDirectory()
    let disk = try mountSmallDisk(in: directory, size: "8m")
    let engine = try await SQLiteEngine.open(at: disk.path + "/store.db")
    let origin = StoreOrigin()
    var stored = 0
    var failure: StorageError?
    for index in 0..<200 where failure == nil {
      do {
        let value = Data(repeating: UInt8(index), count: 100_000)
        try await engine.commit(WriteBatch([.put(KeyName("v\(index)"), value)]), from: origin)
        stored += 1
      } catch let error as StorageError {
        failure = error
      }
    }
    #expect(failure?.code == .diskFull, "\(String(describing: failure))")
    #expect(stored > 10)
    // Every stored value is readable, the store stays open, and it accepts values again once there is space.
    for index in 0..<stored {
      #expect(try await engine.entry(KeyName("v\(index)"))?.value == Data(repeating: UInt8(index), count: 100_000))
    }
    #expect(try await engine.entry(KeyName("v\(stored)")) == nil)
    try disk.resize(to: "32m")
    try await engine.commit(WriteBatch([.put(KeyName("after"), Data("x".utf8))]), from: origin)
    #expect(try await engine.entry(KeyName("after")) != nil)
    try await engine.close()
  }

  /// In a group, only the batch that does not fit fails.
  @Test(.enabled(if: getuid() == 0, "mounting a small file system needs root"))
  func aBatchThatDoesNotFitFailsAlone() async throws {
    let directory = try TemporaryDirectory()
    let disk = try mountSmallDisk(in: directory, size: "12m")
    let engine = try await SQLiteEngine.open(at: disk.path + "/store.db")
    let results = await withTaskGroup(of: (Int, StorageError.Code?).self) { group in
      for index in 0..<40 {
        group.addTask {
          let size = index == 20 ? 30_000_000 : 100
          do {
            let batch = WriteBatch([.put(try KeyName("k\(index)"), Data(repeating: UInt8(index), count: size))])
            _ = try await engine.commit(batch, from: StoreOrigin())
            return (index, nil)
          } catch {
            return (index, (error as? StorageError)?.code ?? .inputOutput)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for (index, code) in results {
      #expect(code == (index == 20 ? .diskFull : nil), "batch \(index)")
      #expect((try await engine.entry(KeyName("k\(index)")) != nil) == (index != 20))
    }
    try await engine.close()
  }

  /// SQLite ends the transaction when there is no space for the record of an expiry: nothing may be written after it.
  @Test(.enabled(if: getuid() == 0, "mounting a small file system needs root"))
  func aBatchOfExpiringValuesThatDoesNotFitStoresNothing() async throws {
    let directory = try TemporaryDirectory()
    let disk = try mountSmallDisk(in: directory, size: "8m")
    let engine = try await SQLiteEngine.open(at: disk.path + "/store.db")
    var attributes = ValueAttributes()
    attributes.expires = .now + 3_600
    try await engine.commit(WriteBatch([.put("before", Data("1".utf8), attributes)]), from: StoreOrigin())
    let revision = engine.latestRevision
    let prefix = String(repeating: "k", count: 600)
    let keys = try (0..<15_000).map { try KeyName(prefix + "\($0)") }
    let error = await #expect(throws: StorageError.self) {
      try await engine.commit(WriteBatch(keys.map { .put($0, Data("2".utf8), attributes) }), from: StoreOrigin())
    }
    #expect(error?.code == .diskFull, "\(String(describing: error))")
    #expect(try await engine.summaries().map(\.key) == ["before"])
    #expect(engine.latestRevision == revision)
    try await engine.commit(WriteBatch([.put("after", Data("3".utf8), attributes)]), from: StoreOrigin())
    #expect(try await engine.summaries().map(\.key) == ["after", "before"])
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  /// Mounts a small file system, or cancels the test where root may not mount one.
  private func mountSmallDisk(in directory: TemporaryDirectory, size: String) throws -> SmallDisk {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: size) else {
      try Test.cancel("root cannot mount a tmpfs on this machine: \(String(cString: strerror(errno)))")
    }
    return disk
  }
}
