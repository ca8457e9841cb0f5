#if os(Linux) || os(macOS)
  import Coffer
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import CofferTesting
  import Foundation
  import Testing

  /// Stores that replace their keys by themselves.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct AutomaticRotationTests {
    private static let count = 30
    private static let day: TimeInterval = 86_400
    private let directory: TemporaryDirectory
    private let clock = SettableClock()
    private let recorder = EventRecorder()

    init() throws { directory = try TemporaryDirectory() }

    private func base(_ kind: TestedStore = .sqlite) async throws -> any StorageEngine {
      try await kind.open(in: directory.url, StoreOptions(clock: clock.storeClock))
    }

    private func open(
      _ base: any StorageEngine, _ policy: KeyRotation.Policy? = KeyRotation.Policy(maximumAge: .seconds(90 * 86_400))
    ) async throws -> EncryptedEngine {
      var configuration = EncryptedEngine.Configuration()
      configuration.automaticRotation = policy
      let told = EventHookEngine(base, recorder.events)
      return try await EncryptedEngine.open(told, configuration: configuration) { _ in try .forTests() }
    }

    private func fill(_ engine: any StorageEngine) async throws {
      for number in 0..<Self.count { try await engine.put(.known("k/\(number)"), "value \(number)") }
    }

    private func check(_ engine: any StorageEngine) async throws {
      for number in 0..<Self.count { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    }

    private func ring(of base: any StorageEngine) async throws -> KeyRing {
      try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }
        .ring
    }

    private var replacements: [StoreEvent.KeyReplacement] {
      recorder.all.compactMap { if case .keysReplaced(let replacement) = $0.kind { replacement } else { nil } }
    }

    private func replacement() async throws {
      try await recorder.first(within: .seconds(60)) { if case .keysReplaced = $0.kind { true } else { false } }
    }

    @Test("A key is replaced when it has reached its age", arguments: [TestedStore.memory, .sqlite, .file])
    func age(_ kind: TestedStore) async throws {
      let base = try await base(kind)
      let engine = try await open(base)
      try await fill(engine)
      let first = try await ring(of: base).primary.id
      await clock.waitForSleepers()
      clock.advance(by: 89 * Self.day)
      await clock.waitForSleepers()
      #expect(try await ring(of: base).primary.id == first)
      clock.advance(by: Self.day)
      try await replacement()
      let ring = try await ring(of: base)
      #expect(ring.entries.count == 1 && ring.primary.id != first)
      #expect(replacements.map(\.values) == [Self.count] && replacements[0].removedKeys == [first.short])
      try await check(engine)
      clock.advance(by: Self.day)
      await clock.waitForSleepers()
      #expect(replacements.count == 1)
      try await engine.close()
    }

    @Test("Several handles write no value twice")
    func oneOfSeveral() async throws {
      let bases = [try await base(), try await base(), try await base()]
      var engines: [EncryptedEngine] = []
      for base in bases { engines.append(try await open(base)) }
      try await fill(engines[0])
      await clock.waitForSleepers(3)
      clock.advance(by: 91 * Self.day)
      try await replacement()
      await clock.waitForSleepers(3)
      clock.advance(by: 3_601)
      await clock.waitForSleepers(3)
      #expect(replacements.map(\.values).reduce(0, +) == Self.count, "\(replacements)")
      #expect(try await ring(of: bases[0]).entries.count == 1)
      for engine in engines {
        try await check(engine)
        try await engine.close()
      }
    }

    @Test("Closing ends a rotation, and the next handle continues it")
    func continues() async throws {
      let base = try await base()
      let first = try await open(base, nil)
      try await fill(first)
      let old = try await ring(of: base).primary.id
      let faulty = FaultInjectingEngine(OpenEngine(base))
      let engine = try await open(faulty)
      await clock.waitForSleepers()
      // The ring, and then the values.
      faulty.inject(.delay(.seconds(3_600)), into: .commit, at: 2)
      clock.advance(by: 91 * Self.day)
      try await eventually("the values are being committed") { faulty.count(of: .commit) >= 2 }
      try await engine.close()
      #expect(try await ring(of: base).entries.map(\.state) == [.retired, .primary])
      #expect(replacements.isEmpty)
      try await check(first)
      let next = try await open(base)
      try await replacement()
      #expect(try await ring(of: base).entries.count == 1)
      #expect(replacements[0].removedKeys == [old.short])
      try await check(first)
      try await next.close()
    }

    @Test("A failure is told, and breaks no read or write")
    func failure() async throws {
      let faulty = FaultInjectingEngine(try await base())
      let engine = try await open(faulty)
      try await fill(engine)
      await clock.waitForSleepers()
      faulty.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 2)
      clock.advance(by: 91 * Self.day)
      let event = try await recorder.first { if case .failed = $0.kind { true } else { false } }
      guard case .failed(let failure) = event.kind else { return }
      #expect(failure.operation == .rotation && failure.code == .diskFull)
      try await check(engine)
      try await engine.put("new", "1")
      // The next attempt continues.
      await clock.waitForSleepers()
      clock.advance(by: 3_601)
      try await replacement()
      try await check(engine)
      try await engine.close()
    }

    @Test("A damaged value delays the next attempt by a day, and no value is written twice")
    func damage() async throws {
      let base = try await base()
      let engine = try await open(base)
      try await fill(engine)
      var stored = try #require(try await base.entry("k/7"))
      var value = stored.value
      value[value.count - 1] ^= 1
      try await base.commit(WriteBatch([.put("k/7", value, stored.attributes)]), from: StoreOrigin())
      await clock.waitForSleepers()
      clock.advance(by: 91 * Self.day)
      try await recorder.first { if case .failed = $0.kind { true } else { false } }
      await clock.waitForSleepers()
      #expect(replacements.map(\.values) == [Self.count - 1])
      clock.advance(by: Self.day / 2)
      await clock.waitForSleepers()
      #expect(replacements.count == 1)
      stored = try #require(try await base.entry("k/7"))
      #expect(stored.value == value)
      // The value is written anew, and then the old key goes.
      try await engine.put("k/7", "value 7")
      clock.advance(by: Self.day)
      try await recorder.first(within: .seconds(60)) { _ in replacements.count == 2 }
      #expect(replacements.last?.values == 0)
      #expect(try await ring(of: base).entries.count == 1)
      try await check(engine)
      try await engine.close()
    }

    @Test("Several processes write no value twice, and continue what one that was killed has begun")
    func processes() async throws {
      let base = try await TestedStore.sqlite.open(in: directory.url)
      let engine = try await EncryptedEngine.open(base) { _ in try .forTests() }
      try await fill(engine)
      let old = try await ring(of: base).primary.id
      // The clock of the helper is hours ahead; the key is too old by then.
      func helper(_ hours: Int, hangs: Bool = false) throws -> HelperProcess {
        try HelperProcess(["rotate-by-itself", directory.url.path, "\(hours)", "\(hangs)"])
      }
      let stuck = try helper(2, hangs: true)
      #expect(try stuck.line() == "rotating")
      stuck.kill()
      stuck.wait()
      #expect(try await ring(of: base).entries.map(\.state) == [.retired, .primary])
      let helpers = [try helper(3), try helper(3)]
      try await eventually("the rotation ends") { try await self.ring(of: base).entries.count == 1 }
      for helper in helpers { helper.tell("stop") }
      let values = try helpers.map { try Int(#require(try $0.line())) ?? -1 }
      for helper in helpers { #expect(helper.wait() == 0) }
      // One that is stopped before its rotation has ended does not tell what it has done.
      #expect(values.reduce(0, +) <= Self.count)
      let ring = try await ring(of: base)
      #expect(ring.primary.id != old && ring.entries.count == 1)
      try await check(engine)
      try await engine.close()
    }
  }
#endif
