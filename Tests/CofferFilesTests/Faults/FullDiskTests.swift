import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A real file system of 8 MB that fills up.
@Suite(.blocking, .serialized, .enabled(if: getuid() == 0, "mounting a small file system needs root"))
struct FullDiskTests {
  private let origin = StoreOrigin()

  private func disk(_ directory: TemporaryDirectory) throws -> SmallDisk {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "8m") else {
      try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
    }
    return disk
  }

  @Test func aBatchThatDoesNotFitLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    let disk = try disk(directory)
    let url = URL(fileURLWithPath: disk.path + "/store")
    let engine = try await SlotEngine.files(in: url)
    func batch(_ count: Int, _ byte: UInt8) throws -> WriteBatch {
      WriteBatch(try (0..<count).map { .put(try KeyName("v\($0)"), Data(repeating: byte, count: 200_000)) })
    }
    func expect(_ byte: UInt8) async throws {
      for index in 0..<10 {
        #expect(try await engine.entry(KeyName("v\(index)"))?.value == Data(repeating: byte, count: 200_000))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: url.path + "/.coffer/staged") == [])
      #expect(try FileManager.default.contentsOfDirectory(atPath: url.path).count == 11)
    }
    try await engine.commit(batch(10, 1), from: origin)
    for _ in 0..<3 {
      await expectError(.diskFull, contains: "space") { try await engine.commit(batch(50, 2), from: origin) }
      try await expect(1)
      #expect(try await engine.entry(KeyName("v10")) == nil)
      #expect(engine.latestRevision == StoreRevision(1))
    }
    // Old and new values fit beside each other; removing the old ones frees their space.
    for byte in UInt8(3)...6 {
      try await engine.commit(batch(10, byte), from: origin)
      try await expect(byte)
    }
    try await engine.close()
    let again = try await SlotEngine.files(in: url)
    #expect(try await again.entry(KeyName("v9"))?.value == Data(repeating: 6, count: 200_000))
    #expect(again.latestRevision == StoreRevision(5))
    try await again.close()
  }

  /// Stores values until the disk is full, at whichever part of a commit that happens.
  @Test(arguments: [1_000, 30_000, 300_000])
  func everythingAcknowledgedIsThereWhenTheDiskIsFull(size: Int) async throws {
    let directory = try TemporaryDirectory()
    let disk = try disk(directory)
    let url = URL(fileURLWithPath: disk.path + "/store")
    let engine = try await SlotEngine.files(in: url)
    var acknowledged: [Int] = []
    var failures: [StorageError] = []
    for index in 0..<10_000 where failures.count < 5 {
      do {
        let value = Data(repeating: UInt8(truncatingIfNeeded: index), count: size)
        try await engine.commit(WriteBatch([.put(KeyName("v\(index)"), value)]), from: origin)
        acknowledged.append(index)
      } catch let error as StorageError {
        failures.append(error)
      }
    }
    #expect(failures.count == 5 && failures.allSatisfy { $0.code == .diskFull }, "\(failures)")
    for index in acknowledged {
      #expect(try await engine.entry(KeyName("v\(index)"))?.value.first == UInt8(truncatingIfNeeded: index))
    }
    // Values can still be removed, since that needs almost no space.
    try disk.resize(to: "9m")
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
    try await engine.commit(WriteBatch([.put(KeyName("after"), Data("x".utf8))]), from: origin)
    try await engine.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() == [".coffer", "after"])
  }
}
