import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct SealedFileTests {
  private let secret = Data("hunter2-hunter2-hunter2".utf8)

  private func put(_ key: String, _ data: Data, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try KeyName(key), data)]), from: StoreOrigin())
  }

  @Test("A wrong passphrase is an error, and never an empty store")
  func wrongPassphrase() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", secret, into: engine)
    try await engine.close()
    let before = try Data(contentsOf: fixture.url)
    try await expectError(.wrongPassphrase, fixture.path) { _ = try await fixture.open("battery staple") }
    #expect(try Data(contentsOf: fixture.url) == before)
    let again = try await fixture.open()
    #expect(try await again.entry(KeyName("token"))?.value == secret)
    try await again.close()
  }

  @Test("A store without values also verifies its passphrase")
  func wrongPassphraseOfAnEmptyStore() async throws {
    let fixture = try SealedFixture()
    try await fixture.open().close()
    try await expectError(.wrongPassphrase) { _ = try await fixture.open("another") }
  }

  // Requirements 1.45, 1.64
  @Test("No file of the store contains anything that depends on a secret")
  func nothingLeaks() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    for round in 0..<20 { try await put("key\(round % 3)", secret + Data("\(round)".utf8), into: engine) }
    // A snapshot causes the replaced value to be retained.
    try await engine.withSnapshot { snapshot in
      try await put("key1", secret + Data("new".utf8), into: engine)
      #expect(try await snapshot.entries([KeyName("key1")])[0]?.value == secret + Data("19".utf8))
      let files = try fixture.allFiles()
      #expect(files.count > 5)
      for file in files { #expect(file.bytes.range(of: secret.prefix(8)) == nil, "\(file.name)") }
    }
    let lines = try await engine.journal?.entry(KeyName("key1"))?.value
    let record = try #require(lines?.withUnsafeBytes { SlotRecord($0) })
    #expect(record.checksum == 0)
    #expect(record.size == 0)
    try await engine.close()
    for file in try fixture.allFiles() { #expect(file.bytes.range(of: secret.prefix(8)) == nil, "\(file.name)") }
  }

  // Requirement 0.32
  @Test("Every damaged byte is detected, and the last copy is used")
  func damage() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", secret, into: engine)
    try await engine.close()
    let whole = try Data(contentsOf: fixture.url)
    for position in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[position] ^= 1
      try bytes.write(to: fixture.url)
      let format = try? SealedProbe.open(bytes, "correct horse")
      #expect(format == nil, "byte \(position)")
    }
    // Damage after the header: the store uses the copy.
    var bytes = whole
    bytes[whole.count - 1] ^= 1
    try bytes.write(to: fixture.url)
    let reports = Locked<[DamageReport]>([])
    let mended = try await fixture.open { $0.onDamage = { report in reports.withLock { $0.append(report) } } }
    #expect(try await mended.entry(KeyName("token"))?.value == secret)
    #expect(reports.withLock { $0.map(\.size) } == [whole.count])
    try await put("other", Data("x".utf8), into: mended)
    try await mended.close()
    let again = try await fixture.open()
    #expect(try await again.entry(KeyName("token"))?.value == secret)
    #expect(try await again.entry(KeyName("other"))?.value == Data("x".utf8))
    try await again.close()
    let kept = try FileManager.default.contentsOfDirectory(atPath: fixture.control + "/quarantine")
    #expect(kept.contains { $0.hasPrefix("damaged-") })
  }

  @Test("A missing store is not created if that is disabled")
  func missing() async throws {
    let fixture = try SealedFixture()
    try await expectError(.notFound) { _ = try await fixture.open { $0.createsIfMissing = false } }
    #expect(try fixture.allFiles().isEmpty)
  }

  @Test("The passphrase can be changed while other handles are open")
  func changedPassphrase() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    let other = try await fixture.open()
    try await put("token", secret, into: engine)
    try await engine.changePassphrase(to: passphrase("battery staple"), cost: cheap)
    try await put("second", secret, into: other)
    #expect(try await engine.entry(KeyName("second"))?.value == secret)
    try await engine.close()
    try await other.close()
    try await expectError(.wrongPassphrase) { _ = try await fixture.open() }
    let again = try await fixture.open("battery staple")
    #expect(try await again.entry(KeyName("token"))?.value == secret)
    #expect(try await again.entry(KeyName("second"))?.value == secret)
    try await again.close()
  }

  @Test("A file of another store is not overwritten")
  func replacedFile() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", secret, into: engine)
    let foreign = try SealedProbe.file("battery staple", values: 2)
    try foreign.write(to: fixture.url, options: .atomic)
    try await expectError(.wrongPassphrase) { try await put("token", Data("new".utf8), into: engine) }
    try await expectError(.wrongPassphrase) { _ = try await engine.entry(KeyName("token")) }
    #expect(try Data(contentsOf: fixture.url) == foreign)
    try await engine.close()
  }

  @Test("More than 64 KiB is refused")
  func tooLarge() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("large", Data(count: 64 << 10), into: engine)
    try await expectError(.valueTooLarge) { try await put("large", Data(count: (64 << 10) + 1), into: engine) }
    try await engine.close()
  }

  @Test("Only this user may access the file and its directory")
  func rights() async throws {
    let fixture = try SealedFixture()
    try await fixture.open().close()
    for (path, rights) in [(fixture.path, mode_t(0o600)), (fixture.control, 0o700)] {
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == rights, "\(path)")
    }
  }

  @Test("A link to the file and the file itself are one store")
  func link() async throws {
    let fixture = try SealedFixture()
    let link = fixture.url.deletingLastPathComponent().appendingPathComponent("link.sealed")
    let files = FileManager.default
    try files.createSymbolicLink(at: link, withDestinationURL: fixture.url)
    func openLink() async throws -> SlotEngine {
      try await SlotEngine.sealed(at: link, passphrase: passphrase("correct horse"), cost: cheap)
    }
    try await expectError(.notAStore, "leads nowhere") { _ = try await openLink() }
    let engine = try await fixture.open()
    let other = try await openLink()
    try await put("a", secret, into: other)
    #expect(try await engine.entry(KeyName("a"))?.value == secret)
    #expect(engine.latestRevision == other.latestRevision)
    #expect(!files.fileExists(atPath: link.path + ".coffer"))
    #expect(try files.destinationOfSymbolicLink(atPath: link.path) == fixture.path)
    try await other.close()
    try await engine.close()
  }

  @Test("A directory that was replaced by another is unavailable, and the other is not written to")
  func swapped() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("a", secret, into: engine)
    let directory = fixture.url.deletingLastPathComponent().path
    let (aside, files) = (directory + ".aside", FileManager.default)
    try files.moveItem(atPath: directory, toPath: aside)
    try files.createDirectory(atPath: directory, withIntermediateDirectories: false)
    // The journal detects it within a second and then closes.
    for call in [
      { _ = try await engine.entry(KeyName("a")) }, { try await put("a", Data("stale".utf8), into: engine) },
    ] {
      do {
        try await call()
        Issue.record("nothing was thrown")
      } catch let error as StorageError {
        #expect([.unavailable, .closed].contains(error.code) && error.message.contains("moved"), "\(error)")
      }
    }
    #expect(try files.contentsOfDirectory(atPath: directory) == [])
    try await engine.close()
    try files.removeItem(atPath: directory)
    try files.moveItem(atPath: aside, toPath: directory)
    let again = try await fixture.open()
    #expect(try await again.entry(KeyName("a"))?.value == secret)
    try await again.close()
  }
}
