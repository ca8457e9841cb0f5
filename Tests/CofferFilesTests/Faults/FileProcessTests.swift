import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Several processes on one directory.
@Suite(.blocking, .serialized) struct FileProcessTests {
  // Requirement 1.44
  @Test func threeProcessesLoseNoUpdateOfAFile() async throws {
    let directory = try StoreDirectory()
    let helpers = try (0..<3).map { _ in try directory.run("files-increment", "60") }
    for helper in helpers {
      #expect(try helper.lines() == [])
      #expect(helper.wait() == 0)
    }
    let engine = try await directory.open()
    #expect(try directory.contents() == ["counter": Data("180".utf8)])
    let journal = try await commits(engine, after: .zero)
    #expect(journal.map(\.revision.rawValue) == Array(1...180))
    #expect(journal.allSatisfy { $0.origin != nil })
    try await engine.close()
  }

  /// A second process must not take the new journal of the first for leftovers of a deleted one.
  @Test func manyProcessesMayCreateOneDirectoryAtOnce() async throws {
    for round in 0..<8 {
      let directory = try StoreDirectory()
      let helpers = try (0..<6).map { try directory.run("files-write", "full", "w\($0)", "3") }
      for helper in helpers { #expect(try helper.lines().last == "ack 2", "round \(round)") }
      let engine = try await directory.open()
      #expect(engine.latestRevision == StoreRevision(18), "round \(round)")
      #expect(try await values(engine).count == 36, "round \(round)")
      let control = try directory.names(in: "")
      #expect(!control.contains { $0.hasSuffix(".lost") }, "\(control)")
      try await engine.close()
    }
  }

  /// Two processes and this one write the same keys: values are never torn, and each receives every commit once.
  @Test func threeWritersOfTheSameKeys() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let (own, other) = (OwnLog(engine), try OtherLog(directory))
    let helpers = try (0..<2).map { _ in try directory.run("files-write", "full", "same", "60") }
    let origin = StoreOrigin()
    for number in 0..<60 {
      let value = Data("\(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: 200)
      let batch = WriteBatch([
        .put(try KeyName("same/left/\(number)"), value), .put(try KeyName("same/right/\(number)"), value),
      ])
      try await engine.commit(batch, from: origin)
      #expect(try await engine.entry(KeyName("same/left/\(number)"))?.value == value)
    }
    for helper in helpers { #expect(try helper.lines().last == "ack 59") }
    try await engine.commit(WriteBatch([.put(KeyName("end"), Data())]), from: origin)
    for log in [own, other] as [any ChangeLog] {
      try await log.wait(for: "end")
      let heard = try log.commits()
      #expect(heard.map(\.revision) == Array(1...181))
      #expect(heard.allSatisfy { !$0.isForeign })
    }
    #expect(try await values(engine).count == 121)
    for number in 0..<60 {
      let left = try Data(contentsOf: URL(fileURLWithPath: directory.file("same/left/\(number)")))
      let right = try Data(contentsOf: URL(fileURLWithPath: directory.file("same/right/\(number)")))
      #expect(left.count > 200 && left == right)
    }
    other.end()
    try await engine.close()
  }
}
