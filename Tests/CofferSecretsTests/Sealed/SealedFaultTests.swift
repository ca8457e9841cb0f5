import CofferCore
import CofferEncryption
import CofferFiles
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(.blocking, .serialized) struct SealedFaultTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  private func filled() async throws -> SealedFixture {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await engine.commit(FileScenario.fill(), from: StoreOrigin())
    try await engine.close()
    return fixture
  }

  private func step(of helper: HelperProcess) throws -> (last: String, isWhole: Bool) {
    let lines = try helper.lines()
    helper.wait()
    #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
    return (String(lines.last { $0.hasPrefix("step") }?.dropFirst(5) ?? ""), lines.last == "closed")
  }

  private func contents(_ engine: SlotEngine) async throws -> [String: String] {
    try await engine.withSnapshot { snapshot in
      let page = try await snapshot.page(prefix: nil, after: nil, limit: 10_000)
      return Dictionary(uniqueKeysWithValues: page.map { ($0.key.string, String(decoding: $0.value, as: UTF8.self)) })
    }
  }

  private func check(_ fixture: SealedFixture, mustBeNew: Bool, _ comment: Comment) async throws {
    let engine = try await fixture.open()
    #expect(try await contents(engine) == (mustBeNew ? FileScenario.after : FileScenario.before), comment)
    #expect(engine.latestRevision == StoreRevision(mustBeNew ? 2 : 1), comment)
    #expect(try await engine.recoveryReport().edited == 0, comment)
    try await engine.close()
    for folder in ["staged", "retained", "quarantine"] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.control + "/" + folder) == [], comment)
    }
  }

  @Test("A batch is atomic if its writer is killed at any step")
  func stepKills() async throws {
    var kills = 0
    for step in 1...100 {
      let fixture = try await filled()
      let (last, isWhole) = try self.step(of: HelperProcess(["sealed-commit", fixture.path, "\(step)"]))
      try await check(fixture, mustBeNew: Self.committed.contains(last), "killed at \(step): \(last)")
      if isWhole { break }
      kills += 1
    }
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  @Test("A recovery that is killed at any step is completed by the next one")
  func recoveryKills() async throws {
    var recoveries = 0
    for recoveryStep in 1...100 {
      let fixture = try await filled()
      let (last, _) = try step(of: HelperProcess(["sealed-commit", fixture.path, "6"]))
      #expect(last == "committed")
      let (_, isWhole) = try step(of: HelperProcess(["sealed-open", fixture.path, "\(recoveryStep)"]))
      try await check(fixture, mustBeNew: true, "recovery killed at \(recoveryStep)")
      if isWhole { break }
      recoveries += 1
    }
    #expect(recoveries >= 8 && recoveries < 100, "\(recoveries)")
  }

  @Test("Two processes lose no update")
  func twoProcesses() async throws {
    let fixture = try SealedFixture()
    let counters = try (0..<2).map { _ in try HelperProcess(["sealed-increment", fixture.path, "50"]) }
    let writers = try (0..<2).map { try HelperProcess(["sealed-write", fixture.path, "full", "w\($0)", "25"]) }
    for helper in counters + writers {
      let lines = try helper.lines()
      #expect(helper.wait() == 0, "\(lines)")
    }
    let engine = try await fixture.open()
    let found = try await contents(engine)
    #expect(found["counter"] == "100" && found.count == 101)
    try await engine.close()
  }

  @Test("If two processes create the file, one succeeds with different passphrases, and both with the same")
  func concurrentCreation() async throws {
    for round in 0..<10 {
      for passphrases in [["one", "one"], ["one", "two"]] {
        let fixture = try SealedFixture()
        let helpers = try passphrases.map { try HelperProcess(["sealed-create", fixture.path, $0]) }
        for helper in helpers { #expect(try helper.line() == "ready") }
        for helper in helpers { helper.tell("go") }
        let lines = try helpers.map { try $0.lines().joined(separator: "\n") }
        for helper in helpers { helper.wait() }
        let winners = lines.count { $0 == "ack" }
        #expect(winners == (passphrases[0] == passphrases[1] ? 2 : 1), "round \(round): \(lines)")
        #expect(lines.allSatisfy { $0 == "ack" || $0.contains("wrongPassphrase") }, "\(lines)")
        let winner = lines[0] == "ack" ? passphrases[0] : passphrases[1]
        let engine = try await fixture.open(winner)
        #expect(try await contents(engine).count == winners)
        try await engine.close()
      }
    }
  }

  @Test("A full disk loses no acknowledged secret")
  func fullDisk() async throws {
    let directory = try TemporaryDirectory()
    guard getuid() == 0, let disk = try SmallDisk(at: directory.path("disk"), size: "2m") else {
      try Test.cancel("mounting a small file system needs root")
    }
    let file = URL(fileURLWithPath: disk.path + "/secrets.sealed")
    let engine = try await SlotEngine.sealed(at: file, passphrase: passphrase("x"), cost: cheap)
    var (acknowledged, failures) = ([Int](), 0)
    for index in 0..<200 where failures < 3 {
      do {
        let value = Data(repeating: UInt8(index), count: 40_000)
        try await engine.commit(WriteBatch([.put(KeyName("v\(index)"), value)]), from: StoreOrigin())
        acknowledged.append(index)
      } catch let error as StorageError {
        #expect([.diskFull, .unfinished].contains(error.code), "\(error)")
        failures += 1
      }
    }
    #expect(failures == 3 && acknowledged.count > 5)
    for index in acknowledged {
      #expect(try await engine.entry(KeyName("v\(index)"))?.value == Data(repeating: UInt8(index), count: 40_000))
    }
    try disk.resize(to: "8m")
    try await engine.commit(WriteBatch([.put(KeyName("after"), Data("x".utf8))]), from: StoreOrigin())
    try await engine.close()
    let again = try await SlotEngine.sealed(at: file, passphrase: passphrase("x"), cost: cheap)
    #expect(try await again.entry(KeyName("after")) != nil)
    for index in acknowledged { #expect(try await again.entry(KeyName("v\(index)")) != nil) }
    try await again.close()
  }

  @Test("A passphrase from a file, and from a systemd credential")
  func passphraseSources() async throws {
    let directory = try TemporaryDirectory()
    try Data("correct horse\n".utf8).write(to: directory.url.appendingPathComponent("shop"))
    try #require(chmod(directory.url.appendingPathComponent("shop").path, 0o600) == 0)
    let fixture = try SealedFixture()
    try await fixture.open().close()
    let file = PassphraseSource.file(directory.url.appendingPathComponent("shop"))
    try await SlotEngine.sealed(at: fixture.url, passphrase: file, cost: cheap).close()
    setenv("CREDENTIALS_DIRECTORY", directory.url.path, 1)
    defer { unsetenv("CREDENTIALS_DIRECTORY") }
    try await SlotEngine.sealed(at: fixture.url, passphrase: .systemdCredential("shop"), cost: cheap).close()
    try await expectError(.unavailable) {
      _ = try await SlotEngine.sealed(at: fixture.url, passphrase: .systemdCredential("other"), cost: cheap)
    }
  }
}
