import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The invariants that must hold after a batch of ``FileScenario`` was interrupted at any point.
struct PreferenceAftermath {
  let fixture: PreferenceFixture
  /// Whether a later write was stored after the batch.
  var isLaterStored = false
  /// Whether the file is also read by `UserDefaults` in another process.
  var asksFoundation = true
  let comment: Comment

  /// Checks the file as it was left, then opens the store and checks every invariant.
  /// - Returns: Whether the batch was committed.
  func check(mustBeNew: Bool = false, mustBeOld: Bool = false) async throws -> Bool {
    // The file is complete at every moment, even before the batch is rolled forward.
    let left = try withoutLater(fixture.texts())
    #expect(left == FileScenario.before || left == FileScenario.after, "\(left); \(comment)")
    let (damages, reports) = (Locked<[DamageReport]>([]), Locked<[RecoveryReport]>([]))
    let engine = try await fixture.open {
      $0.onDamage = { report in damages.withLock { $0.append(report) } }
      $0.onRecovery = { report in reports.withLock { $0.append(report) } }
    }
    let all = try await values(engine)
    let found = withoutLater(all)
    let isNew = found == FileScenario.after
    #expect(isNew || found == FileScenario.before, "neither old nor new: \(found); \(comment)")
    #expect((all["later"] == "x") == isLaterStored, comment)
    if mustBeNew { #expect(isNew, comment) }
    if mustBeOld { #expect(!isNew, comment) }
    for (key, value) in found { #expect(try await engine.text(key) == value, comment) }
    try checkFiles(all)
    let count = (isNew ? 1 : 0) + (isLaterStored ? 1 : 0)
    #expect(engine.latestRevision == StoreRevision(UInt64(1 + count)), comment)
    #expect(engine.recentCommits(after: StoreRevision(1))?.count ?? count == count, comment)
    #expect(damages.withLock { $0.isEmpty }, comment)
    #expect(reports.withLock { $0.allSatisfy { $0.edited == 0 && !$0.wasRebuilt } }, comment)
    try await engine.close()
    return isNew
  }

  private func withoutLater(_ values: [String: String]) -> [String: String] { values.filter { $0.key != "later" } }

  /// Checks that the file contains exactly the values, for other programs as well, and that nothing is left staged.
  private func checkFiles(_ values: [String: String]) throws {
    #expect(try fixture.texts() == values, comment)
    if asksFoundation {
      let keys = values.keys.sorted()
      let other = try HelperProcess(
        ["defaults-bytes", fixture.suite] + keys + ["absent"], environment: [("XDG_CONFIG_HOME", fixture.path)])
      let expected = keys.map { Data((values[$0] ?? "").utf8).base64EncodedString() } + ["nil"]
      #expect(try other.lines() == expected, comment)
    }
    for folder in ["staged", "retained", "quarantine"] {
      #expect(try fixture.names(in: folder) == [], "\(folder); \(comment)")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path).sorted()
    #expect(names == [".coffer-preferences", "\(fixture.suite).plist"], comment)
  }
}

/// Overwrites a file in place, as `UserDefaults` and `echo` do.
func overwrite(_ path: String, _ data: Data) throws {
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
  guard file >= 0 else { throw TestFailure("open \(path): \(String(cString: strerror(errno)))") }
  defer { close(file) }
  guard data.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == data.count else {
    throw TestFailure("write \(path)")
  }
}

/// Checks that `body` throws a `StorageError` with a code, and returns the error.
@discardableResult
func expectPreferenceError(
  _ code: StorageError.Code, contains text: String = "", sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async -> StorageError? {
  await expectStorageError(code, contains: text, at: "prefs", sourceLocation: sourceLocation, body)
}
