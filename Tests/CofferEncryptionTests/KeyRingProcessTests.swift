import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Processes that create and reseal the key ring of one database, and are killed meanwhile.
@Suite(.blocking, .serialized, .timeLimit(.minutes(30))) struct KeyRingProcessTests {
  private let folder: TemporaryDirectory
  private var keys: [String] { [folder.path("a"), folder.path("b")] }

  init() throws {
    folder = try TemporaryDirectory()
    for (path, seed) in zip([folder.path("a"), folder.path("b")], ["a", "b"]) {
      try sha256(Data(seed.utf8)).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
  }

  private func ring(_ store: String, _ key: String) async throws -> KeyRing {
    let engine = try await SQLiteEngine.open(at: store)
    let open = try await KeyRingStore(engine).open(with: .file(key), settings: EncryptionSettings())
    let copies = try await [engine.record(.keyRing), engine.record(.keyRingCopy)]
    #expect(copies[0] == copies[1])
    try await engine.close()
    return open.ring
  }

  @Test func processesThatCreateAtOnceAgree() async throws {
    let store = folder.path("store.db")
    let helpers = try (0..<6).map { _ in try HelperProcess(["ring-create", store, keys[0]]) }
    let lines = try helpers.map { try $0.lines() }
    let ids = Set(lines.compactMap(\.last))
    #expect(ids == ["ack \(try await ring(store, keys[0]).primary.id.bytes.base64EncodedString())"], "\(lines)")
  }

  @Test func aKilledCreationLeavesAWholeRingOrNone() async throws {
    var random = SeededGenerator(seed: 18)
    for round in 0..<(isProving ? 300 : 25) {
      let store = folder.path("\(round).db")
      let helper = try HelperProcess(["ring-create", store, keys[0]])
      #expect(try helper.line() == "begin")
      pause(upTo: .milliseconds(12), using: &random)
      helper.kill()
      let lines = try helper.lines()
      helper.wait()
      let ring = try await ring(store, keys[0])
      let known = "ack \(ring.primary.id.bytes.base64EncodedString())"
      #expect(lines.isEmpty || lines == [known], "round \(round)")
      #expect(ring.generation == 1, "round \(round)")
    }
  }

  @Test func aKilledResealingLeavesOneRootKey() async throws {
    var random = SeededGenerator(seed: 1_818)
    let store = folder.path("store.db")
    let first = try await ring(store, keys[0])
    var (current, generation) = (0, first.generation)
    for round in 0..<(isProving ? 200 : 20) {
      let order = [keys[current], keys[1 - current]]
      let helper = try HelperProcess(["ring-reseal", store] + order)
      #expect(try helper.line() == "begin 0")
      pause(upTo: .milliseconds(30), using: &random)
      helper.kill()
      let lines = try helper.lines()
      helper.wait()
      let acknowledged = UInt64(lines.filter { $0.hasPrefix("ack") }.count)
      // Exactly one key opens the store, and it is that of the last acknowledged change or of the next one.
      var opened: [Int] = []
      for index in 0..<2 {
        do {
          let ring = try await ring(store, keys[index])
          #expect(ring.entries == first.entries && ring.storeID == first.storeID)
          #expect((acknowledged...acknowledged + 1).contains(ring.generation - generation), "round \(round)")
          #expect((ring.generation - first.generation) % 2 == UInt64(index), "round \(round)")
          opened.append(index)
          (current, generation) = (index, ring.generation)
        } catch let error as StorageError where error.code == .wrongPassphrase {
          continue
        }
      }
      #expect(opened.count == 1, "round \(round)")
    }
  }

  /// A wrong key leaves every byte of every file as it is.
  @Test func aWrongKeyChangesNoFile() async throws {
    let store = folder.path("store.db")
    _ = try await ring(store, keys[0])
    let before = try files()
    let engine = try await SQLiteEngine.open(at: store)
    let opened = try files()
    let error = try await storageError {
      _ = try await KeyRingStore(engine).open(with: .file(keys[1]), settings: EncryptionSettings())
    }
    #expect(error.code == .wrongPassphrase && error.location.contains(store))
    #expect(try files() == opened)
    try await engine.close()
    #expect(try files()[store] == before[store])
  }

  private func files() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      contents[folder.path(name)] = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
    }
    return contents
  }
}
