import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A key ring of the time when a store was being encrypted or decrypted, which somebody may have put back.
@Suite struct UnfinishedRingTests {
  private static let phases = [KeyRing.Phase.encrypting, .decrypting]

  let directory: TemporaryDirectory
  let events = Locked<[StoreEvent]>([])

  init() throws { directory = try TemporaryDirectory() }

  /// Opens the database, whose events are collected.
  private func base() async throws -> SQLiteEngine {
    var configuration = SQLiteEngine.Configuration()
    configuration.events = CofferEvents { [events] event in events.withLock { $0.append(event) } }
    return try await SQLiteEngine.open(
      at: directory.path("store.db"), configuration: configuration)
  }

  /// Waits until the handle was told to be refused, and returns how often it was.
  private func refusals(_ phase: KeyRing.Phase, atLeast count: Int) async throws -> Int {
    var found = 0
    try await eventually("the refusal is told") {
      found = events.withLock { events in
        events.filter { $0.kind == .encryptionUnfinished(isDecryption: phase == .decrypting) }.count
      }
      return found >= count
    }
    return found
  }

  @Test("A store does not open while its ring is unfinished, and says so", arguments: phases)
  func opening(_ phase: KeyRing.Phase) async throws {
    let base = try await base()
    let first = try await base.encrypted()
    try await first.put("sealed", "1")
    try await base.changeRing { $0.phase = phase }
    let before = base.latestRevision
    for _ in 0..<2 {
      let error = try await storageError { _ = try await base.encrypted() }
      #expect(error.code == .encryptionUnfinished && error.advice.contains("older key ring"), "\(error)")
      #expect(error.message.contains(phase == .decrypting ? "decryption" : "encryption"))
    }
    await expectStorageError(.encryptionUnfinished) { _ = try await ReadOnlyEngine(base).encrypted() }
    #expect(base.latestRevision == before)
    #expect(try await refusals(phase, atLeast: 3) == 3)
    let accepting = try await base.encrypted(acceptsUnfinished: true)
    #expect(try await accepting.text("sealed") == "1")
  }

  @Test("An open handle neither returns plain values nor stores any", arguments: phases)
  func open(_ phase: KeyRing.Phase) async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await engine.put("sealed", "1")
    try await base.plant("planted", "2")
    try await base.changeRing { $0.phase = phase }
    for _ in 0..<2 {
      await expectStorageError(.encryptionUnfinished) { _ = try await engine.text("planted") }
      await expectStorageError(.encryptionUnfinished) { try await engine.put("token", "s3cret") }
    }
    #expect(try await base.entry("token") == nil)
    #expect(try await refusals(phase, atLeast: 1) == 1)
    try await base.changeRing { $0.phase = .complete }
    try await engine.put("token", "s3cret")
    #expect(try await base.entry("token")?.attributes.isMarked == true)
  }

  @Test("Only the handle that encrypts or decrypts serves meanwhile, and no longer than that")
  func serving() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    for number in 0..<10 { try await engine.put(.known("k/\(number)"), "\(number)") }
    _ = try await engine.encryptPlainValues().result()
    try await base.changeRing { $0.phase = .decrypting }
    await expectStorageError(.encryptionUnfinished) { try await engine.put("token", "s3cret") }
    #expect(try await base.entry("token") == nil)
    // What was begun can be finished, or turned back.
    let accepting = try await base.encrypted(acceptsUnfinished: true)
    let report = try await accepting.decrypt().result()
    #expect(report.isComplete && report.continuedEarlier && report.changedValues == 10)
    #expect(try await base.text("k/1") == "1")
  }

  @Test("A store whose decryption was begun is encrypted again", arguments: [EncryptionSettings(), .hidden])
  func turningBack(_ settings: EncryptionSettings) async throws {
    let base = try await base()
    let key = directory.path("key")
    try Data((0..<32).map { $0 }).write(to: URL(fileURLWithPath: key))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    let configuration = EncryptedEngine.Configuration(settings: settings)
    let engine = try await EncryptedEngine.open(base, key: .file(key), configuration: configuration)
    for number in 0..<10 { try await engine.put(.known("k/\(number)"), "\(number)") }
    let store = try KeyRingStore(base)
    let open = try await store.open(with: .file(key), settings: settings, ifMissing: .refuse)
    _ = try await store.update(open) { $0.phase = .decrypting }
    var accepting = configuration
    accepting.acceptsUnfinished = true
    let half = try await EncryptedEngine.open(base, key: .file(key), configuration: accepting)
    try await half.put("k/3", "three")
    #expect(try await base.text("k/3") == "three")
    let (again, rotation) = try await EncryptedEngine.encrypt(base, key: .file(key), configuration: configuration)
    let report = try await rotation.result()
    #expect(report.isComplete && report.changedValues == 1)
    #expect(again.keyRing.phase == .complete)
    #expect(try await again.text("k/3") == "three")
    #expect(try await again.text("k/4") == "4")
    #expect(try await base.summaries().allSatisfy { $0.attributes.isMarked })
    #expect(try await EncryptedEngine.open(base, key: .file(key)).text("k/3") == "three")
  }

  @Test("A handle that is refused another phase serves as before")
  func refused() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await engine.put("bad", "1")
    let stored = try #require(try await base.entry("bad"))
    var changed = stored.value
    changed[changed.count - 1] ^= 1
    try await base.commit(WriteBatch([.put("bad", changed, stored.attributes)]), from: StoreOrigin())
    #expect(try await !engine.decrypt().result().isComplete)
    await expectStorageError(.busy) { _ = try await engine.encryptPlainValues() }
    try await base.changeRing { try $0.addPrimary(now: Date(timeIntervalSince1970: 0)) }
    try await engine.put("token", "2")
    #expect(try await engine.text("token") == "2")
  }

  @Test("An encryption ends beside a value that cannot be read")
  func besideUnreadable() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await engine.put("bad", "1")
    let stored = try #require(try await base.entry("bad"))
    try await base.commit(
      WriteBatch([.put("bad", stored.value.prefix(8), stored.attributes)]), from: StoreOrigin())
    try await base.plant("plain", "2")
    let report = try await engine.encryptPlainValues().result()
    #expect(report.failures.map(\.key) == ["bad"] && report.changedValues == 1)
    #expect(try await base.encrypted().text("plain") == "2")
    await expectStorageError(.damaged) { _ = try await engine.text("bad") }
  }
}
