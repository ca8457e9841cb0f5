import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// A directory with many files that nobody has told Coffer of.
@Suite(.serialized) struct ManyFilesTests {
  @Test func manyFilesAreTakenInAndFoundAgain() async throws { try await takeIn(20_000) }

  /// The long proof: `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatAHundredThousandFilesAreTakenIn() async throws { try await takeIn(100_000) }

  private func takeIn(_ count: Int) async throws {
    let directory = try StoreDirectory()
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    for index in 0..<count { try overwrite("\(directory.path)/file-\(index)", "value \(index)") }
    let clock = ContinuousClock()
    let memoryBefore = Self.residentMegabytes()
    var start = clock.now
    let engine = try await directory.open()
    print("\(count) files: taken in within \(clock.now - start)")
    let report = try await engine.recoveryReport()
    #expect(report.wasRebuilt && report.edited == count)
    for index in [0, count / 2, count - 1] {
      #expect(try await engine.entry(Key("file-\(index)"))?.value == Data("value \(index)".utf8))
    }
    start = clock.now
    let found = try await values(engine)
    print("\(count) files: listed with their values within \(clock.now - start)")
    #expect(found.count == count)
    #expect(found.allSatisfy { $0.value == "value \($0.key.dropFirst(5))" })
    try await engine.close()

    start = clock.now
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    print("\(count) files: opened again within \(clock.now - start)")
    #expect(again.latestRevision == engine.latestRevision)
    #expect(try await again.sizes(prefix: nil).count == count)
    start = clock.now
    try await again.commit(WriteBatch([.clear(prefix: Key("file-1"))]), from: Origin())
    print("\(count) files: those that start with 'file-1' cleared within \(clock.now - start)")
    let rest = found.keys.filter { !$0.hasPrefix("file-1") }
    #expect(try await again.sizes(prefix: nil).count == rest.count)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == rest.count + 1)
    try await again.close()
    // What is kept for each file is a few hundred bytes, here and in this test.
    if let memoryBefore, let memoryAfter = Self.residentMegabytes() {
      print("\(count) files: \(memoryAfter - memoryBefore) MB more than before")
      #expect(memoryAfter - memoryBefore < 100 + count / 250)
    }
  }

  private static func residentMegabytes() -> Int? {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 / 1_024 }
  }
}
