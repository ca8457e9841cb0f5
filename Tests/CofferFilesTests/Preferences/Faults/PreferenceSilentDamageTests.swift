import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Bytes that change without a write and still form a valid property list.
@Suite(.blocking, .serialized) struct PreferenceSilentDamageTests {
  private let stored = ["theme": "dark", "size": "12"]

  private func filled() async throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    for (key, value) in stored { try await engine.put(key, value) }
    try await engine.close()
    return fixture
  }

  /// Overwrites a value in place and restores the file's modification time.
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

  /// "dark" and "dars" in Base64, as the file contains them.
  private let old = "ZGFyaw=="
  private let new = "ZGFycw=="

  @Test func aFlippedBitIsNoEdit() async throws {
    let fixture = try await filled()
    try forge(fixture.file, old, new)
    let damaged = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    let reports = Locked(0)
    let engine = try await fixture.open { $0.onDamage = { _ in reports.withLock { $0 += 1 } } }
    #expect(try await values(engine) == stored)
    #expect(try await engine.text("theme") == "dark")
    #expect(try await engine.recoveryReport().edited == 0)
    #expect(reports.withLock { $0 } == 1)
    let kept = try fixture.names(in: "quarantine").map { fixture.control + "/quarantine/" + $0 }
    #expect(try kept.map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == [damaged])
    try await engine.put("size", "13")
    #expect(try fixture.texts() == ["theme": "dark", "size": "13"])
    try await engine.close()
  }

  /// A copy that differs from the last written file is not used, since it would revert later changes.
  @Test func anotherCopyDoesNotServe() async throws {
    let fixture = try await filled()
    try forge(fixture.file, old, new)
    try forge(fixture.control + "/copy", old, "b2xkcg==")
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { try await fixture.open() }
      #expect(error?.code == .damaged, "\(String(describing: error))")
    }
  }

  /// An intact copy serves, whoever has truncated the file.
  @Test func theLastCopyServesAfterATruncation() async throws {
    let fixture = try await filled()
    try Data("<?xml".utf8).write(to: URL(fileURLWithPath: fixture.file), options: .atomic)
    let engine = try await fixture.open()
    #expect(try await engine.text("theme") == "dark")
    try await engine.close()
  }

  /// The same change, written to the file by another program, is an edit.
  @Test func anEditIsTakenIn() async throws {
    let fixture = try await filled()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    guard let range = bytes.range(of: Data(old.utf8)) else { throw TestFailure("no value") }
    bytes.replaceSubrange(range, with: Data(new.utf8))
    try bytes.write(to: URL(fileURLWithPath: fixture.file), options: .atomic)
    let engine = try await fixture.open()
    #expect(try await engine.text("theme") == "dars")
    try await engine.close()
  }

  /// A damaged staged value of a writer that was killed after its commit.
  @Test(arguments: ["flipped", "cut", "gone"]) func aWaitingValueThatIsDamagedIsToldAsLost(_ how: String) async throws {
    let fixture = try await PreferenceFixture.filled()
    // The first step after those of four staged values and the record.
    let lines = try fixture.run("prefs-commit", "6").lines()
    #expect(lines.last == "step committed", "\(lines)")
    let path = try #require(
      try fixture.names(in: "staged").map { fixture.control + "/staged/" + $0 }.first { path in
        try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("new theme".utf8)) != nil
      })
    switch how {
    case "flipped": try forge(path, "new theme", "nEw theme")
    case "cut": truncate(path, 5)
    default: unlink(path)
    }
    let engine = try await fixture.open()
    let report = try await engine.recoveryReport()
    #expect(report.lost.map(\.string) == ["theme"])
    #expect(try await engine.text("theme") == FileScenario.before["theme"])
    #expect(try await engine.text("Fresh") == FileScenario.after["Fresh"])
    #expect(try fixture.names(in: "quarantine").count == (how == "gone" ? 0 : 1))
    try await engine.close()
    let again = try await fixture.open()
    #expect(try await again.recoveryReport().lost == [])
    try await again.close()
  }
}
