import Coffer
import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Older copies of a whole store, and everything that may happen to its anchor.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct RollbackTests {
  private let directory: TemporaryDirectory
  private let anchor: FileAnchor
  private static let stores = TestedStore.with(.local, .plain)

  init() throws {
    directory = try TemporaryDirectory()
    anchor = FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor")))
    try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
  }

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

  private func write(_ kind: TestedStore, _ text: String) async throws {
    let engine = try await open(kind)
    try await engine.put("key", text)
    try await engine.close()
  }

  @Test("An older copy is refused until it is accepted, and then the newer one is", arguments: stores)
  func olderCopy(_ kind: TestedStore) async throws {
    try await write(kind, "one")
    try directory.copy("store", to: "old")
    try await write(kind, "two")
    try directory.copy("store", to: "new")
    try directory.copy("old", to: "store")
    for _ in 0..<2 {
      let error = try await storageError { _ = try await open(kind) }
      #expect(error.code == .rolledBack && error.message.contains("an older copy of itself"), "\(error)")
      #expect(error.message.contains("revision") && error.advice.contains("acceptRollback"))
    }
    let accepted = try await open(kind, accepts: true)
    #expect(try await accepted.text("key") == "one")
    try await accepted.close()
    try await write(kind, "three")
    let again = try await open(kind)
    #expect(try await again.text("key") == "three")
    try await again.close()
    // The copy that the anchor knew before.
    try directory.copy("new", to: "store")
    #expect(try await storageError { _ = try await open(kind) }.code == .rolledBack)
  }

  @Test("A store that was never changed between two openings writes nothing", arguments: stores)
  func unchanged(_ kind: TestedStore) async throws {
    try await write(kind, "one")
    let known = try await anchor.record()
    let engine = try await open(kind)
    let revision = engine.latestRevision
    #expect(try await engine.text("key") == "one")
    try await engine.flush()
    #expect(engine.latestRevision == revision)
    try await engine.close()
    #expect(try await anchor.record() == known)
  }

  @Test("A process that ends without closing gives no alarm, and what it wrote is anchored next time")
  func ended() async throws {
    try await write(.sqlite, "one")
    let engine = try await open(.sqlite)
    try await engine.put("key", "two")
    let copy = try await anchor.record()
    try await engine.base.close()  // as the kernel does for a killed process
    let next = try await open(.sqlite)
    #expect(try await next.text("key") == "two")
    #expect(try await anchor.record() == copy)
    try await next.close()
    #expect(try await anchor.record() != copy)
  }

  @Test("A deleted store, another one in its stead and one without encryption are noticed", arguments: stores)
  func replaced(_ kind: TestedStore) async throws {
    try await write(kind, "one")
    try FileManager.default.removeItem(atPath: directory.path("store"))
    try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
    let error = try await storageError { _ = try await open(kind) }
    #expect(error.code == .rolledBack && error.message.contains("no key ring"), "\(error)")
    // Nothing was created: the store has no ring still.
    let plain = try await base(kind)
    #expect(try await plain.record(.keyRing) == nil)
    let other = try await plain.encrypted()
    try await other.put("key", "planted")
    try await other.close()
    let another = try await storageError { _ = try await open(kind) }
    #expect(another.code == .rolledBack && another.message.contains("another identity"), "\(another)")
    let accepted = try await open(kind, accepts: true)
    #expect(try await accepted.text("key") == "planted")
    try await accepted.close()
    try await open(kind).close()
  }

  @Test("An anchor that is gone is reported, and accepted explicitly")
  func anchorGone() async throws {
    try await write(.sqlite, "one")
    try FileManager.default.removeItem(atPath: directory.path("elsewhere/anchor"))
    let error = try await storageError { _ = try await open(.sqlite) }
    #expect(error.code == .notFound && error.message.contains("elsewhere/anchor"), "\(error)")
    try await open(.sqlite, accepts: true).close()
    try await open(.sqlite).close()
  }

  @Test("A store without the record that the anchor knows is an older copy")
  func recordGone() async throws {
    try await write(.sqlite, "one")
    let base = try await base(.sqlite)
    try await base.commit(WriteBatch([.deleteRecord(.rollback)]), from: StoreOrigin())
    try await base.close()
    #expect(try await storageError { _ = try await open(.sqlite) }.code == .rolledBack)
  }

  @Test("An older key ring in a store with a new record is an older copy")
  func olderRing() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    let old = try #require(try await base.record(.keyRing)?.content)
    _ = try await engine.rotate().result()
    try await engine.flush()
    let planted: [WriteBatch.Operation] = [.putRecord(.keyRing, old), .putRecord(.keyRingCopy, old)]
    try await base.commit(WriteBatch(planted), from: StoreOrigin())
    #expect(try await storageError { _ = try await base.anchored(anchor) }.code == .rolledBack)
    // An open store notices it when it needs the ring again, and writes nothing.
    let error = try await storageError { try await engine.put("key", "two") }
    #expect(error.code == .rolledBack && error.message.contains("replaced by an older one"), "\(error)")
  }

  @Test("Every bit of the anchor: damaged, never another store and never accepted")
  func damagedAnchor() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    try await engine.flush()
    let record = try #require(anchor.state.withLock { $0.record })
    #expect(record.count == AnchorRecord.count)
    for bit in 0..<record.count * 8 {
      anchor.state.withLock { $0.record?[bit / 8] ^= 1 << UInt8(bit % 8) }
      let error = try await storageError { _ = try await base.anchored(anchor) }
      #expect(error.code == .damaged, "bit \(bit): \(error)")
      anchor.state.withLock { $0.record = record }
    }
    for count in 0..<record.count {
      anchor.state.withLock { $0.record = Data(record.prefix(count)) }
      #expect(try await storageError { _ = try await base.anchored(anchor) }.code == .damaged, "\(count) bytes")
    }
    // A number that somebody without the key has written, with a correct checksum.
    var forged = record.dropLast(64)
    forged[39] ^= 1
    forged += record[64..<96]
    anchor.state.withLock { $0.record = forged + sha256(forged) }
    let error = try await storageError { _ = try await base.anchored(anchor) }
    #expect(error.code == .damaged && error.message.contains("without its key"), "\(error)")
    anchor.state.withLock { $0.record = record }
    _ = try await base.anchored(anchor)
  }

  @Test("Every bit of the store's record is damage, which accepting mends")
  func damagedRecord() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    _ = try await base.anchored(anchor)
    let record = try #require(try await base.record(.rollback)?.content)
    for bit in 0..<record.count * 8 {
      var changed = record
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      try await base.commit(WriteBatch([.putRecord(.rollback, changed)]), from: StoreOrigin())
      let error = try await storageError { _ = try await base.anchored(anchor) }
      // The format and the algorithm of an envelope have values of later versions.
      #expect([.damaged, .newerFormat].contains(error.code), "bit \(bit): \(error)")
    }
    try await base.anchored(anchor, accepts: true).close()
  }

  @Test("An anchor that fails or hangs refuses the opening, and a flush says so")
  func unavailable() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    anchor.state.withLock { $0.isFailing = true }
    #expect(try await storageError { try await engine.flush() }.code == .unavailable)
    #expect(try await storageError { _ = try await base.anchored(anchor) }.code == .unavailable)
    anchor.state.withLock { $0.isFailing = false }
    try await engine.flush()
    _ = try await base.anchored(anchor)
    anchor.state.withLock { $0.isHanging = true }
    let configuration = EncryptedEngine.Configuration.anchored(anchor, timeout: .milliseconds(50))
    let error = try await storageError {
      _ = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    }
    #expect(error.code == .unavailable && error.message.contains("did not answer"))
  }

  @Test("The anchor is updated once after many commits, and by itself after the interval")
  func coalesced() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    configuration.rollbackProtection?.interval = .milliseconds(20)
    let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    let before = anchor.state.withLock { $0.updates }
    for number in 0..<200 { try await engine.put("key", "\(number)") }
    try await engine.flush()
    let flushed = anchor.state.withLock { $0.updates }
    #expect(flushed > before)
    try await engine.put("key", "last")
    try await eventually("the anchor is updated") { anchor.state.withLock { $0.updates } > flushed }
  }

  @Test("A store that is read only is compared, and nothing is written")
  func readOnly() async throws {
    let base = MemoryEngine()
    let anchor = MemoryAnchor()
    let engine = try await base.anchored(anchor)
    let old = anchor.state.withLock { $0.record }
    try await engine.put("key", "one")
    try await engine.flush()
    let reader = try await ReadOnlyEngine(base).anchored(anchor)
    #expect(try await reader.text("key") == "one")
    try await reader.flush()
    anchor.state.withLock { $0.record = old }
    _ = try await ReadOnlyEngine(base).anchored(anchor)  // an older anchor cannot be noticed
    let error = try await storageError { _ = try await ReadOnlyEngine(base).anchored(anchor, accepts: true) }
    #expect(error.code == .readOnly)
    #expect(anchor.state.withLock { $0.record } == old)
  }

  @Test("A store in plain whose anchor knows an encrypted one is encrypted again when somebody accepts it")
  func decrypted() async throws {
    let (base, anchor) = (MemoryEngine(), MemoryAnchor())
    try await base.anchored(anchor).put("key", "one")
    let configuration = EncryptedEngine.Configuration.anchored(anchor)
    _ = try await EncryptedEngine.decrypt(base, configuration: configuration) { _ in try .forTests() }.result()
    #expect(try await base.record(.rollback) == nil)
    let before = anchor.state.withLock { $0.record }
    for accepts in [false, true] {
      let encrypt = {
        try await EncryptedEngine.encrypt(base, configuration: configuration, acceptingRollback: accepts) { _ in
          try .forTests()
        }.result()
      }
      guard !accepts else {
        #expect(try await encrypt().isComplete)
        continue
      }
      let refused = try await storageError { _ = try await encrypt() }
      #expect(refused.code == .rolledBack && refused.advice.contains("encrypt(acceptingRollback:)"), "\(refused)")
      #expect(anchor.state.withLock { $0.record } == before)
    }
    #expect(anchor.state.withLock { $0.record } != before)
    #expect(try await base.anchored(anchor).text("key") == "one")
    let error = try await storageError {
      _ = try await EncryptedEngine.encrypt(
        base, configuration: EncryptedEngine.Configuration(), acceptingRollback: true
      ) { _ in try .forTests() }
    }
    #expect(error.code == .unsupported, "\(error)")
  }

  @Test("An event is told")
  func event() async throws {
    let told = Locked<[StoreEvent]>([])
    let events = CofferEvents { event in told.withLock { $0.append(event) } }
    let base = MemoryEngine(events: events)
    let anchor = MemoryAnchor()
    _ = try await base.anchored(anchor)
    try await base.commit(WriteBatch([.deleteRecord(.rollback)]), from: StoreOrigin())
    #expect(try await storageError { _ = try await base.anchored(anchor) }.code == .rolledBack)
    try await eventually("the event is told") {
      let rollbacks = told.withLock { $0 }.filter { if case .rolledBack = $0.kind { true } else { false } }
      return rollbacks.count == 1 && rollbacks.first?.description.contains("is an older copy") == true
    }
  }
}
