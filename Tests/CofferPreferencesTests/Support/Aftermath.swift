import CofferCore
import CofferLocks
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// What must hold after a batch of ``FileScenario`` was interrupted, wherever it was.
struct Aftermath {
  let home: ConfigHome
  /// Stored after the batch, if that was acknowledged.
  var isLaterStored = false
  /// Whether another program is asked what it reads, too: that is one more process.
  var asksFoundation = true
  let comment: Comment

  /// Looks at the file as it was left, opens the store and looks at everything.
  /// - Returns: Whether the batch has happened.
  func check(mustBeNew: Bool = false, mustBeOld: Bool = false) async throws -> Bool {
    // Whole at every moment, also before anybody has finished what was begun.
    let left = try withoutLater(home.texts())
    #expect(left == FileScenario.before || left == FileScenario.after, "\(left); \(comment)")
    let (damages, reports) = (Locked<[DamageReport]>([]), Locked<[RecoveryReport]>([]))
    let engine = try await home.open {
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

  /// The file holds the values and nothing else, for other programs too, and nobody has left anything aside.
  private func checkFiles(_ values: [String: String]) throws {
    #expect(try home.texts() == values, comment)
    if asksFoundation {
      let keys = values.keys.sorted()
      let other = try HelperProcess(
        ["defaults-bytes", home.suite] + keys + ["absent"], environment: [("XDG_CONFIG_HOME", home.path)])
      let expected = keys.map { Data((values[$0] ?? "").utf8).base64EncodedString() } + ["nil"]
      #expect(try other.lines() == expected, comment)
    }
    for folder in ["staged", "retained", "quarantine"] {
      #expect(try home.names(in: folder) == [], "\(folder); \(comment)")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
    #expect(names == [".coffer-preferences", "\(home.suite).plist"], comment)
  }
}

/// Writes bytes over a file's, in place, as `UserDefaults` and `echo` do.
func overwrite(_ path: String, _ data: Data) throws {
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
  guard file >= 0 else { throw TestFailure("open \(path): \(String(cString: strerror(errno)))") }
  defer { close(file) }
  guard data.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == data.count else {
    throw TestFailure("write \(path)")
  }
}

/// The error of the store that `body` throws, which has the code.
@discardableResult
func expectError(
  _ code: StorageError.Code, contains text: String = "", sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async -> StorageError? {
  do {
    try await body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch let error as StorageError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    #expect(text.isEmpty || error.description.contains(text), "\(error)", sourceLocation: sourceLocation)
    #expect(error.backend.hasPrefix("prefs"), "\(error)", sourceLocation: sourceLocation)
    #expect(!error.message.isEmpty, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("\(error) is not a StorageError", sourceLocation: sourceLocation)
  }
  return nil
}
