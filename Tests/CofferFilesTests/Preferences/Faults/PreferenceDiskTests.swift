import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A real file system of a few megabytes that fills up.
@Suite(.blocking, .serialized, .enabled(if: getuid() == 0, "mounting a small file system needs root"))
struct PreferenceDiskTests {
  private let suite = "com.example.shop"

  private func disk(_ directory: TemporaryDirectory, size: String) throws -> SmallDisk {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: size) else {
      try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
    }
    return disk
  }

  private func open(_ disk: SmallDisk) async throws -> SlotEngine {
    try await SystemDirectories.$current.withValue(PreferenceFixture.system(disk.path)) {
      try await SlotEngine.preferences(suite: suite)
    }
  }

  private func names(_ disk: SmallDisk, _ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: disk.path + folder).sorted()
  }

  private func plist(_ disk: SmallDisk) throws -> [String: Data] {
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(disk.path)/\(suite).plist"))
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
    return try #require(list as? [String: Data])
  }

  @Test func aBatchThatDoesNotFitLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    let disk = try disk(directory, size: "8m")
    let engine = try await open(disk)
    func batch(_ count: Int, _ byte: UInt8) throws -> WriteBatch {
      WriteBatch(try (0..<count).map { .put(try KeyName("v\($0)"), Data(repeating: byte, count: 100_000)) })
    }
    func expect(_ byte: UInt8) async throws {
      for index in 0..<10 {
        #expect(try await engine.entry(KeyName("v\(index)"))?.value == Data(repeating: byte, count: 100_000))
      }
      let values = try plist(disk).values
      #expect(values.count == 10 && values.allSatisfy { $0 == Data(repeating: byte, count: 100_000) })
      #expect(try names(disk, "/.coffer-preferences/\(suite)/staged") == [])
      #expect(try names(disk, "") == [".coffer-preferences", "\(suite).plist"])
    }
    try await engine.commit(batch(10, 1), from: StoreOrigin())
    for _ in 0..<3 {
      await expectPreferenceError(.diskFull, contains: "space") {
        try await engine.commit(batch(90, 2), from: StoreOrigin())
      }
      try await expect(1)
      #expect(try await engine.entry(KeyName("v10")) == nil)
      #expect(engine.latestRevision == StoreRevision(1))
    }
    for byte in UInt8(3)...6 {
      try await engine.commit(batch(10, byte), from: StoreOrigin())
      try await expect(byte)
    }
    try await engine.close()
    let again = try await open(disk)
    #expect(try await again.entry(KeyName("v9"))?.value == Data(repeating: 6, count: 100_000))
    #expect(again.latestRevision == StoreRevision(5))
    try await again.close()
  }

  /// Stores values until the disk is full, at whichever part of a commit that happens.
  @Test(arguments: [2_000, 20_000, 80_000])
  func everythingAcknowledgedIsThereWhenTheDiskIsFull(size: Int) async throws {
    let directory = try TemporaryDirectory()
    let disk = try disk(directory, size: "2m")
    let engine = try await open(disk)
    var (stored, failures) = ([Int](), [StorageError]())
    func value(_ index: Int) -> Data { Data(repeating: UInt8(truncatingIfNeeded: index), count: size) }
    for index in 0..<2_000 where failures.count < 4 {
      do {
        try await engine.commit(WriteBatch([.put(KeyName("v\(index)"), value(index))]), from: StoreOrigin())
        stored.append(index)
      } catch let error as StorageError {
        failures.append(error)
        // The change is committed but not yet in the file: readers find it, and it is published later.
        if error.code == .unfinished { stored.append(index) }
      }
    }
    #expect(failures.count == 4 && stored.count > 5)
    #expect(failures.allSatisfy { [.diskFull, .unfinished].contains($0.code) }, "\(failures)")
    #expect(failures.allSatisfy { $0.description.contains("space") }, "\(failures)")
    for index in stored { #expect(try await engine.entry(KeyName("v\(index)"))?.value == value(index)) }
    for (name, data) in try plist(disk) { #expect(data == value(Int(name.dropFirst()) ?? -1)) }
    try disk.resize(to: "16m")
    try await engine.commit(WriteBatch([.put(KeyName("after"), Data("x".utf8))]), from: StoreOrigin())
    #expect(try Set(plist(disk).keys) == Set(stored.map { "v\($0)" } + ["after"]))
    try await engine.close()
    let again = try await open(disk)
    for index in stored { #expect(try await again.entry(KeyName("v\(index)"))?.value == value(index)) }
    #expect(try await again.recoveryReport().edited == 0)
    #expect(try names(disk, "") == [".coffer-preferences", "\(suite).plist"])
    #expect(try names(disk, "/.coffer-preferences/\(suite)/staged") == [])
    try await again.close()
  }
}
