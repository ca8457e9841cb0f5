#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Processes that are killed at random moments while they write a store and its anchor, and rotate its keys.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(60))) struct RollbackProcessTests {
    private static let kills = isProving ? 300 : 6
    private let directory: TemporaryDirectory

    init() throws {
      directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
    }

    private var anchor: FileAnchor { FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor"))) }

    private func helper(_ kind: TestedStore, _ seed: Int) throws -> HelperProcess {
      let anchor = directory.path("elsewhere/anchor")
      let helper = try HelperProcess(["anchored-write", directory.path("store"), kind.rawValue, anchor, "\(seed)"])
      #expect(try helper.line() == "ready")
      return helper
    }

    private func open(_ kind: TestedStore) async throws -> EncryptedEngine {
      let base = try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
      do { return try await base.anchored(anchor, EncryptionSettings(hidesNames: true)) } catch {
        try await base.close()
        throw error
      }
    }

    @Test(
      "No crash and no other process makes a store look older",
      arguments: [TestedStore.sqlite, .file])
    func noFalseAlarm(_ kind: TestedStore) async throws {
      var random = SeededGenerator(seed: kind == .sqlite ? 11 : 12)
      for kill in 0..<Self.kills {
        let helpers = [try helper(kind, 2 * kill), try helper(kind, 2 * kill + 100)]
        for helper in helpers { helper.tell("go") }
        for helper in helpers {
          // The moments are spread over the run; what is tested does not depend on them.
          pause(upTo: .milliseconds(300), using: &random)
          helper.kill()
          helper.wait()
          #expect(try helper.lines().allSatisfy { $0 == "round" }, "kill \(kill)")
        }
        let engine = try await open(kind)
        if kill % 2 == 0 { try await engine.close() } else { try await engine.base.close() }
      }
    }

    @Test(
      "A copy that was taken between two runs is noticed after each of them",
      arguments: [TestedStore.sqlite, .file])
    func oldCopies(_ kind: TestedStore) async throws {
      try await open(kind).close()
      for run in 0..<(isProving ? 50 : 3) {
        try directory.copy("store", to: "old")
        let writer = try helper(kind, 2 * run)
        writer.tell("go")
        #expect(try writer.line() == "round")
        writer.kill()
        writer.wait()
        try directory.copy("store", to: "new")
        try directory.copy("old", to: "store")
        #expect(try await storageError { _ = try await open(kind) }.code == .rolledBack, "run \(run)")
        try directory.copy("new", to: "store")
        try await open(kind).close()
      }
    }
  }
#endif
