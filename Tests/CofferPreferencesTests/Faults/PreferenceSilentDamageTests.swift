import CofferCore
import CofferLocks
import CofferSQLite
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Bytes that change although nobody writes, and make sense all the same.
@Suite(.blocking, .serialized) struct PreferenceSilentDamageTests {
  private let stored = ["theme": "dark", "size": "12"]

  private func filled() async throws -> ConfigHome {
    let home = try ConfigHome()
    let engine = try await home.open()
    for (key, value) in stored { try await engine.put(key, value) }
    try await engine.close()
    return home
  }

  /// Makes another value of one, in place, and gives the file the dates that it had.
  private func forge(_ path: String, _ old: String, _ new: String) throws {
    var status = stat()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    guard old.utf8.count == new.utf8.count, let range = bytes.range(of: Data(old.utf8)), stat(path, &status) == 0 else {
      throw TestFailure("\(path) does not hold \(old)")
    }
    let file = open(path, O_WRONLY)
    defer { close(file) }
    guard pwrite(file, Array(new.utf8), new.utf8.count, off_t(range.lowerBound)) == new.utf8.count,
      futimens(file, [status.st_atim, status.st_mtim]) == 0
    else { throw TestFailure("write") }
  }

  /// "dark" and "dars", as the file has them.
  private let old = "ZGFyaw=="
  private let new = "ZGFycw=="

  @Test func aFlippedBitIsNoEdit() async throws {
    let home = try await filled()
    try forge(home.file, old, new)
    let damaged = try Data(contentsOf: URL(fileURLWithPath: home.file))
    let reports = Locked(0)
    let engine = try await home.open { $0.onDamage = { _ in reports.withLock { $0 += 1 } } }
    #expect(try await values(engine) == stored)
    #expect(try await engine.text("theme") == "dark")
    #expect(try await engine.recoveryReport().edited == 0)
    #expect(reports.withLock { $0 } == 1)
    let kept = try home.names(in: "quarantine").map { home.control + "/quarantine/" + $0 }
    #expect(try kept.map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == [damaged])
    try await engine.put("size", "13")
    #expect(try home.texts() == ["theme": "dark", "size": "13"])
    try await engine.close()
  }

  /// A copy that is not what was in the file would bring back what was changed since.
  @Test func anotherCopyDoesNotServe() async throws {
    let home = try await filled()
    try forge(home.file, old, new)
    try forge(home.control + "/copy", old, "b2xkcg==")
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { try await home.open() }
      #expect(error?.code == .damaged, "\(String(describing: error))")
    }
  }

  /// The same bytes by somebody who writes them.
  @Test func anEditIsTakenIn() async throws {
    let home = try await filled()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: home.file))
    guard let range = bytes.range(of: Data(old.utf8)) else { throw TestFailure("no value") }
    bytes.replaceSubrange(range, with: Data(new.utf8))
    try bytes.write(to: URL(fileURLWithPath: home.file), options: .atomic)
    let engine = try await home.open()
    #expect(try await engine.text("theme") == "dars")
    try await engine.close()
  }

  /// A value that waited for a writer that was killed after its commit.
  @Test(arguments: ["flipped", "cut", "gone"]) func aWaitingValueThatIsDamagedIsToldAsLost(_ how: String) async throws {
    let home = try await ConfigHome.filled()
    // The first step after those of four values aside and of the record.
    let lines = try home.run("prefs-commit", "6").lines()
    #expect(lines.last == "step committed", "\(lines)")
    let path = try #require(
      try home.names(in: "staged").map { home.control + "/staged/" + $0 }.first { path in
        try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("new theme".utf8)) != nil
      })
    switch how {
    case "flipped": try forge(path, "new theme", "nEw theme")
    case "cut": truncate(path, 5)
    default: unlink(path)
    }
    let engine = try await home.open()
    let report = try await engine.recoveryReport()
    #expect(report.lost.map(\.string) == ["theme"])
    #expect(try await engine.text("theme") == FileScenario.before["theme"])
    #expect(try await engine.text("Fresh") == FileScenario.after["Fresh"])
    #expect(try home.names(in: "quarantine").count == (how == "gone" ? 0 : 1))
    try await engine.close()
    let again = try await home.open()
    #expect(try await again.recoveryReport().lost == [])
    try await again.close()
  }
}
