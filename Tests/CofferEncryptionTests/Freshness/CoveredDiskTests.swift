#if os(Linux)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Stores that cover their values, on a real file system that fills up.
  @Suite(.blocking, .serialized, .enabled(if: getuid() == 0, "mounting a small file system needs root"))
  struct CoveredDiskTests {
    private let directory: TemporaryDirectory
    private let disk: SmallDisk

    init() throws {
      directory = try TemporaryDirectory()
      guard let disk = try SmallDisk(at: directory.path("disk"), size: "2m") else {
        try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
      }
      self.disk = disk
    }

    @Test(
      "On a full disk a covered commit fails as a whole, and goes on when there is room",
      arguments: [BaseStore.sqlite, .file])
    func fullDisk(_ kind: BaseStore) async throws {
      let anchor = FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor")))
      let url = URL(fileURLWithPath: disk.path + "/store")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      let engine = try await kind.open(in: url).anchored(anchor, coversValues: true)
      var values: [StoreKey: Data] = [:]
      var failures = 0
      for number in 0..<400 where failures < 20 {
        let key = StoreKey.known("k/\(number % 60)")
        // Of changing sizes, so that the disk is full at different parts of a commit.
        let value = Data(repeating: UInt8(truncatingIfNeeded: number), count: 100 + number * 7_919 % 60_000)
        do {
          try await engine.commit(WriteBatch([.put(key, value)]), from: StoreOrigin())
          values[key] = value
        } catch let error as StorageError where error.code == .diskFull {
          failures += 1
        }
      }
      #expect(failures > 0)
      // The record of the freshness may find no room either.
      do { try await engine.flush() } catch let error as StorageError { #expect(error.code == .diskFull, "\(error)") }
      try await check(engine, values)
      try disk.resize(to: "16m")
      try await engine.put("key", "value")
      values["key"] = Data("value".utf8)
      try await engine.flush()
      try await check(engine, values)
      try await engine.close()
      let again = try await kind.open(in: url).anchored(anchor, coversValues: true)
      try await check(again, values)
      try await again.close()
    }

    private func check(_ engine: EncryptedEngine, _ values: [StoreKey: Data]) async throws {
      for (key, value) in values {
        let entry = try await engine.entry(key)
        #expect(entry?.value == value, "\(key)")
      }
      try await engine.verifyFreshness()
    }
  }
#endif
