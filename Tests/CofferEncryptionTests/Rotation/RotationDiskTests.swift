import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Encrypted stores on a real file system that fills up.
@Suite(.blocking, .serialized, .enabled(if: getuid() == 0, "mounting a small file system needs root"))
struct RotationDiskTests {
  private let directory: TemporaryDirectory
  private let disk: SmallDisk

  init() throws {
    directory = try TemporaryDirectory()
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "2m") else {
      try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
    }
    self.disk = disk
  }

  private func check(_ engine: any StorageEngine, _ values: [KeyName: Data]) async throws {
    for (key, value) in values {
      let entry = try await engine.entry(key)
      #expect(entry?.value == value, "\(key)")
    }
    let summaries = try await engine.summaries()
    #expect(summaries.count == values.count)
  }

  @Test(
    "On a full disk a rotation fails with nothing lost, and goes on when there is room",
    arguments: [TestedStore.sqlite, .file], [EncryptionSettings(), .secret])
  func rotation(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let url = URL(fileURLWithPath: disk.path + "/store")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let base = try await kind.open(in: url)
    let engine = try await base.encrypted(settings)
    var values: [KeyName: Data] = [:]
    filling: for number in 0..<400 {
      let key = KeyName.known("k/\(number)")
      // Of changing sizes, so that the disk is full at different parts of a commit.
      let value = Data(repeating: UInt8(truncatingIfNeeded: number), count: 100 + number * 7_919 % 30_000)
      do {
        try await engine.commit(WriteBatch([.put(key, value)]), from: StoreOrigin())
        values[key] = value
      } catch let error as StorageError where error.code == .diskFull {
        break filling
      }
    }
    #expect(values.count > 5 && values.count < 400)
    try await check(engine, values)
    let error = try await storageError { _ = try await engine.rotate().result() }
    #expect(error.code == .diskFull)
    try await check(engine, values)
    try disk.resize(to: "16m")
    let report = try await engine.rotate().result()
    #expect(report.isComplete && report.values == values.count && !report.removedKeys.isEmpty)
    try await check(engine, values)
    try await engine.close()
    let again = try await kind.open(in: url).encrypted(settings)
    try await check(again, values)
    try await again.close()
  }
}
