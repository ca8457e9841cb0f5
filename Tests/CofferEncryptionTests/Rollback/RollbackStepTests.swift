#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Processes that are killed at each step between the record of a store and its anchor.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(60))) struct RollbackStepTests {
    private static let stores: [TestedStore] = isProving ? [.sqlite, .file] : [.sqlite]
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var anchor: FileAnchor { FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor"))) }

    private func base(_ kind: TestedStore) async throws -> any StorageEngine {
      try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
    }

    private func open(_ kind: TestedStore, accepts: Bool = false) async throws -> EncryptedEngine {
      let base = try await base(kind)
      do { return try await base.anchored(anchor, accepts: accepts) } catch {
        try await base.close()
        throw error
      }
    }

    /// Runs a process up to a step and kills it; returns whether it had ended before.
    private func kill(at last: Int, _ kind: TestedStore, _ options: [String] = []) throws -> Bool {
      let anchor = directory.path("elsewhere/anchor")
      let helper = try HelperProcess(["anchored-steps", directory.path("store"), kind.rawValue, anchor] + options)
      defer {
        helper.kill()
        helper.wait()
      }
      for step in 0...last {
        let line = try #require(try helper.line())
        if line == "closed" { return true }
        #expect(["read", "update", "updated"].contains(line), "step \(step): \(line)")
        if step < last { helper.tell("go") }
      }
      return false
    }

    private func begin() throws {
      for name in ["store", "elsewhere", "old"] where FileManager.default.fileExists(atPath: directory.path(name)) {
        try FileManager.default.removeItem(atPath: directory.path(name))
      }
      try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
    }

    @Test("No step at which a process ends makes a store look older", arguments: stores)
    func noFalseAlarm(_ kind: TestedStore) async throws {
      for isNew in [true, false] {
        var (step, hasEnded) = (0, false)
        while !hasEnded {
          try begin()
          if !isNew { try await open(kind).close() }
          hasEnded = try kill(at: step, kind)
          let engine = try await open(kind)
          try await engine.put("key", "\(step)")
          try await engine.close()
          try await open(kind).close()
          step += 1
        }
        #expect(step > 6)
      }
    }

    @Test("An acceptance that ends at any step is complete or can be repeated", arguments: stores)
    func acceptance(_ kind: TestedStore) async throws {
      var (step, hasEnded, refusals) = (0, false, 0)
      while !hasEnded {
        try begin()
        try await open(kind).close()
        try directory.copy("store", to: "old")
        let newer = try await open(kind)
        try await newer.put("key", "newer")
        try await newer.close()
        try directory.copy("old", to: "store")
        hasEnded = try kill(at: step, kind, ["accept"])
        do { try await open(kind).close() } catch let error as StorageError {
          #expect(error.code == .rolledBack)
          refusals += 1
          try await open(kind, accepts: true).close()
        }
        let engine = try await open(kind)
        #expect(try await engine.text("key") == nil)
        try await engine.close()
        step += 1
      }
      #expect(step > 9 && refusals > 0)
    }
  }
#endif
