import CofferCore
import CofferCrypto
import CofferKeychain
import CofferLocks
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct SealedFileTests {
  private let secret = Data("hunter2-hunter2-hunter2".utf8)

  private func put(_ key: String, _ data: Data, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try StoreKey(key), data)]), from: StoreOrigin())
  }

  @Test("A wrong passphrase is an error, and never an empty store")
  func wrongPassphrase() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("token", secret, into: engine)
    try await engine.close()
    let before = try Data(contentsOf: place.url)
    try await expectError(.wrongPassphrase, place.path) { _ = try await place.open("battery staple") }
    #expect(try Data(contentsOf: place.url) == before)
    let again = try await place.open()
    #expect(try await again.entry(StoreKey("token"))?.value == secret)
    try await again.close()
  }

  @Test("A store without values knows its passphrase, too")
  func wrongPassphraseOfAnEmptyStore() async throws {
    let place = try SealedPlace()
    try await place.open().close()
    try await expectError(.wrongPassphrase) { _ = try await place.open("another") }
  }

  @Test("No file of the store holds anything that depends on a secret")
  func nothingLeaks() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    for round in 0..<20 { try await put("key\(round % 3)", secret + Data("\(round)".utf8), into: engine) }
    // A snapshot makes what is replaced wait aside.
    try await engine.withSnapshot { snapshot in
      try await put("key1", secret + Data("new".utf8), into: engine)
      #expect(try await snapshot.entries([StoreKey("key1")])[0]?.value == secret + Data("19".utf8))
      let files = try place.allFiles()
      #expect(files.count > 5)
      for file in files { #expect(file.bytes.range(of: secret.prefix(8)) == nil, "\(file.name)") }
    }
    let lines = try await engine.journal?.entry(StoreKey("key1"))?.value
    let record = try #require(lines?.withUnsafeBytes { SlotRecord($0) })
    #expect(record.checksum == 0)
    #expect(record.size == 0)
    try await engine.close()
    for file in try place.allFiles() { #expect(file.bytes.range(of: secret.prefix(8)) == nil, "\(file.name)") }
  }

  @Test("Every damaged byte is found, and what was written last serves")
  func damage() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("token", secret, into: engine)
    try await engine.close()
    let whole = try Data(contentsOf: place.url)
    for position in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[position] ^= 1
      try bytes.write(to: place.url)
      let format = try? SealedProbe.open(bytes, "correct horse")
      #expect(format == nil, "byte \(position)")
    }
    // Damage behind the header: the store goes on with the copy.
    var bytes = whole
    bytes[whole.count - 1] ^= 1
    try bytes.write(to: place.url)
    let reports = Locked<[DamageReport]>([])
    let mended = try await place.open { $0.onDamage = { report in reports.withLock { $0.append(report) } } }
    #expect(try await mended.entry(StoreKey("token"))?.value == secret)
    #expect(reports.withLock { $0.map(\.size) } == [whole.count])
    try await put("other", Data("x".utf8), into: mended)
    try await mended.close()
    let again = try await place.open()
    #expect(try await again.entry(StoreKey("token"))?.value == secret)
    #expect(try await again.entry(StoreKey("other"))?.value == Data("x".utf8))
    try await again.close()
    let kept = try FileManager.default.contentsOfDirectory(atPath: place.control + "/quarantine")
    #expect(kept.contains { $0.hasPrefix("damaged-") })
  }

  @Test("Every truncated file is refused")
  func truncation() throws {
    let whole = try SealedProbe.file("correct horse", values: 3)
    for count in 0..<whole.count {
      #expect((try? SealedProbe.open(whole.prefix(count), "correct horse")) == nil, "\(count) bytes")
    }
    #expect(try SealedProbe.open(whole, "correct horse") == 3)
  }

  @Test("A lost file is no new store")
  func lostFile() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("token", secret, into: engine)
    try await engine.close()
    try FileManager.default.removeItem(at: place.url)
    try await expectError(.damaged, "copy") { _ = try await place.open() }
    try FileManager.default.copyItem(atPath: place.control + "/copy", toPath: place.path)
    let again = try await place.open()
    #expect(try await again.entry(StoreKey("token"))?.value == secret)
    try await again.close()
  }

  @Test("A missing store is not made where that is not wanted")
  func missing() async throws {
    let place = try SealedPlace()
    try await expectError(.notFound) { _ = try await place.open { $0.createsIfMissing = false } }
    #expect(try place.allFiles().isEmpty)
  }

  @Test("The passphrase can be changed while others have the store open")
  func changedPassphrase() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    let other = try await place.open()
    try await put("token", secret, into: engine)
    try await engine.changePassphrase(to: passphrase("battery staple"), cost: cheap)
    try await put("second", secret, into: other)
    #expect(try await engine.entry(StoreKey("second"))?.value == secret)
    try await engine.close()
    try await other.close()
    try await expectError(.wrongPassphrase) { _ = try await place.open() }
    let again = try await place.open("battery staple")
    #expect(try await again.entry(StoreKey("token"))?.value == secret)
    #expect(try await again.entry(StoreKey("second"))?.value == secret)
    try await again.close()
  }

  @Test("A file of another store is not written over")
  func replacedFile() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("token", secret, into: engine)
    let foreign = try SealedProbe.file("battery staple", values: 2)
    try foreign.write(to: place.url, options: .atomic)
    try await expectError(.wrongPassphrase) { try await put("token", Data("new".utf8), into: engine) }
    try await expectError(.wrongPassphrase) { _ = try await engine.entry(StoreKey("token")) }
    #expect(try Data(contentsOf: place.url) == foreign)
    try await engine.close()
  }

  @Test("More than 64 KiB is refused")
  func tooLarge() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("large", Data(count: 64 << 10), into: engine)
    try await expectError(.valueTooLarge) { try await put("large", Data(count: (64 << 10) + 1), into: engine) }
    try await engine.close()
  }

  @Test("A hostile header cannot take the machine's memory")
  func hostileHeader() throws {
    var file = try SealedProbe.file("correct horse", values: 1)
    for logN in [UInt8(23), 63, 255] {
      file[10] = logN
      #expect(throws: StorageError.self) { try SealedProbe.open(file, "correct horse") }
    }
  }

  @Test("Its file and directory are this user's alone")
  func rights() async throws {
    let place = try SealedPlace()
    try await place.open().close()
    for (path, rights) in [(place.path, mode_t(0o600)), (place.control, 0o700)] {
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == rights, "\(path)")
    }
  }

  @Test("A link to the file and the file itself are one store")
  func link() async throws {
    let place = try SealedPlace()
    let link = place.url.deletingLastPathComponent().appendingPathComponent("link.sealed")
    let files = FileManager.default
    try files.createSymbolicLink(at: link, withDestinationURL: place.url)
    func openLink() async throws -> SlotEngine {
      try await SlotEngine.sealed(at: link, passphrase: passphrase("correct horse"), cost: cheap)
    }
    try await expectError(.notAStore, "leads nowhere") { _ = try await openLink() }
    let engine = try await place.open()
    let other = try await openLink()
    try await put("a", secret, into: other)
    #expect(try await engine.entry(StoreKey("a"))?.value == secret)
    #expect(engine.latestRevision == other.latestRevision)
    #expect(!files.fileExists(atPath: link.path + ".coffer"))
    #expect(try files.destinationOfSymbolicLink(atPath: link.path) == place.path)
    try await other.close()
    try await engine.close()
  }

  @Test("A directory that another has taken the place of is away, and the other is not written to")
  func swapped() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    try await put("a", secret, into: engine)
    let directory = place.url.deletingLastPathComponent().path
    let (aside, files) = (directory + ".aside", FileManager.default)
    try files.moveItem(atPath: directory, toPath: aside)
    try files.createDirectory(atPath: directory, withIntermediateDirectories: false)
    // Its journal notices within a second and ends then.
    for call in [
      { _ = try await engine.entry(StoreKey("a")) }, { try await put("a", Data("stale".utf8), into: engine) },
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
    let again = try await place.open()
    #expect(try await again.entry(StoreKey("a"))?.value == secret)
    try await again.close()
  }
}
