import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A directory with many files that another program has created.
@Suite(.blocking, .serialized) struct ManyFilesTests {
  @Test func manyFilesAreTakenInAndFoundAgain() async throws { try await takeIn(20_000) }

  /// The long proof: `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatAHundredThousandFilesAreTakenIn() async throws { try await takeIn(100_000) }

  private func takeIn(_ count: Int) async throws {
    let directory = try StoreDirectory()
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    for index in 0..<count { try overwrite("\(directory.path)/file-\(index)", "value \(index)") }
    // In a separate process, so that its memory is that of the store alone.
    let lines = try directory.run("files-take-in").lines()
    for line in lines { print("\(count) files: \(line)") }
    try #require(lines.count == 4, "\(lines)")
    #expect(lines[0] == "edited \(count), rebuilt true")
    #expect(lines[2].hasPrefix("listed \(count) "))
    // A few hundred bytes per file during the scan.
    let megabytes = lines[3].split(separator: " ").compactMap { Int($0) }.first
    #expect(megabytes.map { $0 < 100 + count / 500 } == true, "\(lines)")

    let clock = ContinuousClock()
    var start = clock.now
    let engine = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    print("\(count) files: opened again within \(clock.now - start)")
    for index in [0, count / 2, count - 1] {
      #expect(try await engine.entry(KeyName("file-\(index)"))?.value == Data("value \(index)".utf8))
    }
    let found = try await values(engine)
    #expect(found.count == count)
    #expect(found.allSatisfy { $0.value == "value \($0.key.dropFirst(5))" })
    #expect(try await engine.summaries().count == count)
    start = clock.now
    try await engine.commit(WriteBatch([.clear(prefix: KeyName("file-1"))]), from: StoreOrigin())
    print("\(count) files: those that start with 'file-1' cleared within \(clock.now - start)")
    let rest = found.keys.filter { !$0.hasPrefix("file-1") }
    #expect(try await engine.summaries().count == rest.count)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == rest.count + 1)
    try await engine.close()
  }
}
