import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Files that are damaged, or put back from an earlier copy, while a migration is interrupted or between two versions.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10)), .enabled(if: FaultLibrary.path != nil, "no C compiler"))
struct MigrationDamageTests {
  /// Returns the files of a scene that only Coffer writes: a change of a value in a file or of a preference is an edit
  /// by another program.
  private func files(_ scene: MigrationScene) throws -> [URL] {
    let top = URL(fileURLWithPath: scene.fixture.path(""))
    let all = try #require(FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil))
    return all.compactMap { $0 as? URL }.filter {
      ((try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile ?? false) && !$0.path.hasSuffix("-shm")
        && !$0.path.hasSuffix(".plist") && (!$0.path.contains("/files/") || $0.path.contains("/.coffer/"))
    }.sorted { $0.path < $1.path }
  }

  /// Reads all new keys: each has its value, or there is an error that says why not. An older value that is still there
  /// counts as well.
  private func expectNothingWrong(_ scene: MigrationScene, _ comment: Comment) async {
    do {
      try await scene.use { (router: StorageRouter) async throws -> Void in
        for (key, old) in zip(scene.newer, scene.older) {
          do {
            #expect(try await router.get(key) == MigrationScene.value, comment)
          } catch let error as StorageError where error.code == .notFound {
            #expect(try await router.exists(old), "\(key.name) is absent: \(comment)")
          } catch is StorageError {}
        }
      }
    } catch {}  // A store whose damage is noticed when it is closed.
  }

  @Test("A flipped bit in any file of an interrupted migration is no wrong value, and no absent one")
  func flippedBits() async throws {
    var random = SeededGenerator(seed: 19)
    for round in 0..<(isProving ? 400 : 24) {
      let scene = try await MigrationScene()
      let step = 1 + round % 12
      _ = try scene.helper(fault: "kill:sync:\(step)").lines()
      let file = try #require(try files(scene).randomElement(using: &random))
      var data = try Data(contentsOf: file)
      guard !data.isEmpty else { continue }
      let (index, bit) = (Int.random(in: 0..<data.count, using: &random), Int.random(in: 0..<8, using: &random))
      data[index] ^= 1 << UInt8(bit)
      let handle = try FileHandle(forWritingTo: file)
      try handle.write(contentsOf: data)
      try handle.close()
      await expectNothingWrong(scene, "bit \(bit) of byte \(index) of \(file.path), killed at sync \(step)")
    }
  }

  @Test("An earlier copy of a store, put back after a migration, is migrated again, and gives no wrong value")
  func olderCopies() async throws {
    let scene = try await MigrationScene()
    let copy = scene.fixture.path("") + "-copy"
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try FileManager.default.copyItem(atPath: scene.root, toPath: copy)
    try await scene.expectCompletion("the first time")
    for name in ["store.db", "files"] {
      for ending in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: "\(scene.root)/\(name)\(ending)")
      {
        try FileManager.default.removeItem(atPath: "\(scene.root)/\(name)\(ending)")
      }
      try FileManager.default.copyItem(atPath: "\(copy)/\(name)", toPath: "\(scene.root)/\(name)")
      try await scene.use { (router: StorageRouter) async throws -> Void in
        for (key, old) in zip(scene.newer, scene.older) {
          let comment = Comment(rawValue: "\(key.name), \(name) put back")
          do {
            #expect(try await router.get(key) == MigrationScene.value, comment)
          } catch is StorageError {
            // A value that was moved into the store that was put back is in no store.
            #expect(key.name != "same", comment)
          }
          if key.name == "same" { #expect(try await !router.exists(old), comment) }
        }
      }
    }
  }

  @Test("Processes of two versions on one store lose nothing, whatever moment one is killed at")
  func twoVersions() async throws {
    for round in 0..<(isProving ? 60 : 4) {
      let scene = try await MigrationScene()
      let killed = try scene.helper(["wait"], fault: "kill:pwrite:\(3 + 11 * round)")
      let whole = try scene.helper(["wait"])
      for helper in [killed, whole] { #expect(try helper.line() == "ready") }
      killed.tell("go")
      whole.tell("go")
      // This process is the previous version, which reads the older keys meanwhile.
      try await scene.use { (router: StorageRouter) async throws -> Void in
        for old in scene.older where try await router.exists(old) {
          do { #expect(try await router.get(old) == MigrationScene.value) } catch let error as StorageError {
            #expect([.notFound, .busy].contains(error.code), "\(error)")  // It was moved meanwhile.
          }
        }
      }
      _ = try killed.lines()
      let lines = try whole.lines()
      #expect(lines == scene.newer.map { "\($0.name) \(MigrationScene.value)" } + ["closed"], "round \(round)")
      try await scene.expectCompletion("round \(round)")
    }
  }
}
