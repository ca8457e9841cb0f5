import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import CofferVault
import Foundation
import Testing

/// Secrets with an access control in a sealed file, which is opened by routers, adapters and vaults.
@Suite(.serialized, .timeLimit(.minutes(15))) struct GuardedSecretTests {
  private let directory: TemporaryDirectory
  private let authenticator = ScriptedAuthenticator()

  init() throws { directory = try TemporaryDirectory() }

  private var file: URL { URL(fileURLWithPath: directory.path("secrets.sealed")) }
  private var passphrase: PassphraseSource { .provided { Data("correct horse".utf8) } }
  private var questions: Int { authenticator.questions.count }

  private func engine(_ authenticator: (any Authenticator)?, grace: Duration = .zero) async throws -> SlotEngine {
    var configuration = SlotEngine.Configuration()
    configuration.authentication = authenticator.map { AuthenticationContext($0, gracePeriod: grace) }
    return try await SlotEngine.sealed(at: file, passphrase: passphrase, configuration: configuration)
  }

  private func key(_ name: String, _ control: KeychainAccessControl?) -> TypedKey<String> {
    TypedKey(
      secret: name, in: .sealed(at: file, passphrase: passphrase, accessControl: control), owner: "Account",
      about: "A secret of a test.")
  }

  private func router(_ authenticator: (any Authenticator)?, grace: Duration = .zero) -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.unregisteredKeys = .allow
    configuration.authentication = authenticator.map { AuthenticationContext($0, gracePeriod: grace) }
    return StorageRouter(configuration: configuration)
  }

  /// Stores a secret with an access control and an unguarded one, and closes the store.
  private func prepare(_ control: KeychainAccessControl = .userPresence) async throws {
    let adapter = KeychainAdapter(engine: try await engine(authenticator))
    try await adapter.set(Data("\"s3cret\"".utf8), for: "pin", accessControl: control)
    try await adapter.set(Data("\"open\"".utf8), for: "token")
    try await adapter.engine.close()
    #expect(questions == 0, "a write asks nobody")
  }

  // Requirement 1.47
  @Test("Each way to read the value asks, and the listings do not")
  func engineReads() async throws {
    try await prepare()
    let engine = try await engine(authenticator)
    let pin: KeyName = "pin"
    let token: KeyName = "token"
    #expect(try await engine.contains(pin))
    #expect(try await engine.summary(of: pin)?.attributes.accessControl == .userPresence)
    #expect(try await engine.summaries().map(\.key) == [pin, token])
    #expect(try await engine.withSnapshot { try await $0.summary(of: pin) } != nil)
    #expect(try await engine.entry(token) != nil)
    #expect(try await engine.entries([token]).count == 1)
    let adapter = KeychainAdapter(engine: engine)
    #expect(try await adapter.accessibility(of: "pin") == nil)
    #expect(try await adapter.accessControl(of: "pin") == .userPresence)
    #expect(try await adapter.list() == ["pin", "token"])
    #expect(questions == 0)
    #expect(try await engine.entry(pin)?.value == Data("\"s3cret\"".utf8))
    #expect(questions == 1)
    #expect(try await engine.entries([token, pin, "none", pin]).compactMap { $0 }.count == 3)
    #expect(questions == 2)
    #expect(try await adapter.get("pin") != nil)
    #expect(questions == 3)
    let counts = try await engine.withSnapshot { snapshot in
      let entries = try await snapshot.entries([pin]).compactMap { $0 }
      return [entries.count, try await snapshot.page(prefix: nil, after: nil, limit: 10).count]
    }
    #expect(counts == [1, 2])
    #expect(questions == 4, "a snapshot asks once")
    #expect(authenticator.questions.allSatisfy { $0.reason.contains("'pin'") && !$0.reason.contains("s3cret") })
    try await engine.close()
  }

  @Test("A refused, dismissed or unanswered question is an error that names the key, and the rest stays readable")
  func refused() async throws {
    try await prepare()
    let engine = try await engine(authenticator)
    let read = { @Sendable in _ = try await engine.entry("pin") }
    authenticator.answer = .refused
    let error = await expectStorageError(.authenticationFailed, contains: "'pin'", at: "sealed:") { try await read() }
    #expect(error?.isAboutQuestion == true)
    authenticator.answer = .cancelled
    await expectStorageError(.authenticationCancelled, contains: "'pin'") { try await read() }
    await expectStorageError(.authenticationCancelled, contains: "'pin'") {
      _ = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10) }
    }
    // A page ends before a refused value, and the next one throws without another question.
    try await engine.commit(WriteBatch([.put("a", Data([1]))]), from: StoreOrigin())
    let count = questions
    let first = Locked<[KeyName]>([])
    await expectStorageError(.authenticationCancelled, contains: "'pin'") {
      try await engine.withSnapshot { snapshot in
        let page = try await snapshot.page(prefix: nil, after: nil, limit: 10)
        first.withLock { $0 = page.map(\.key) }
        _ = try await snapshot.page(prefix: nil, after: "a", limit: 10)
      }
    }
    #expect(first.withLock { $0 } == ["a"])
    #expect(questions == count + 1)
    #expect(
      try await engine.withSnapshot { try await $0.page(prefix: nil, after: "pin", limit: 10) }.map(\.key) == ["token"])
    #expect(try await engine.entry("token") != nil)
    try await engine.close()
    let without = try await self.engine(nil)
    await expectStorageError(.unsupported, contains: "userPresence") { _ = try await without.entry("pin") }
    #expect(try await without.entry("token") != nil)
    try await without.close()
  }

  // Requirement 1.47
  @Test("No other door reads a guarded secret unasked")
  func doors() async throws {
    try await prepare(.devicePasscode)
    let count = questions
    let vault = EngineVaultService(engine: try await engine(nil))
    await #expect(throws: SwiftVaultError.self) { _ = try await vault.loadData(forKey: "pin") }
    #expect(await vault.exists(forKey: "pin"))
    #expect(try await vault.loadData(forKey: "token") != nil)
    try await vault.engine.close()
    // Another declaration, without access control.
    let other = router(authenticator)
    #expect(try await other.get(key("pin", nil)) == "s3cret")
    #expect(questions == count + 1)
    #expect(authenticator.questions.last?.control == .devicePasscode)
    // A location, as the command-line tool opens it, for reading only.
    var options = StoreOptions()
    options.passphrase = { _ in passphrase }
    options.access = .readOnly
    let opened = try await StoreLocation.sealed(path: file.path).open(options)
    await expectStorageError(.unsupported) { _ = try await opened.entry("pin") }
    await expectStorageError(.unsupported) {
      _ = try await opened.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10) }
    }
    #expect(try await opened.summaries().count == 2)
    try await opened.close()
    try await other.close()
  }

  // Requirement 4.26
  @Test("A router asks at each read of a declared key and caches nothing; writes, listings and the audit ask nobody")
  func routerReads() async throws {
    let router = router(authenticator)
    let pin = key("pin", .biometryAny)
    try await router.set("s3cret", for: pin)
    #expect(router.cached(pin) == nil)
    #expect(try await router.exists(pin))
    _ = await router.auditReport()
    #expect(questions == 0)
    #expect(try await router.get(pin) == "s3cret")
    #expect(router.cached(pin) == nil)
    #expect(try await router.get(pin) == "s3cret")
    #expect(questions == 2)
    #expect(try await router.bytes(of: pin) != nil)
    #expect(questions == 3)
    #expect(try await router.update(pin) { $0 += "!" } == "s3cret!")
    #expect(questions == 4)
    #expect(try await router.get(pin) == "s3cret!")
    try await router.remove(pin)
    #expect(questions == 5)
    await expectStorageError(.notFound) { _ = try await router.get(pin) }
    try await router.set("s3cret", for: pin, expires: Date(timeIntervalSince1970: 1))
    await expectStorageError(.notFound) { _ = try await router.get(pin) }
    #expect(questions == 5, "for a value that is absent or has expired nobody is asked")
    try await router.close()
  }

  // Requirement 4.26
  @Test("A declared access control is asked for also where the stored value has none, or another one")
  func declared() async throws {
    let plain = router(nil)
    try await plain.set("s3cret", for: key("pin", nil))
    try await plain.close()
    let router = router(authenticator)
    let pin = key("pin", .biometryAny)
    #expect(try await router.get(pin) == "s3cret")
    #expect(authenticator.questions.map(\.control) == [.biometryAny])
    #expect(router.cached(pin) == nil)
    authenticator.answer = .refused
    await expectStorageError(.authenticationFailed) { _ = try await router.get(pin) }
    authenticator.answer = .confirmed
    try await router.set("s3cret", for: pin)
    try await router.close()
    let stricter = self.router(authenticator)
    #expect(try await stricter.get(key("pin", .devicePasscode)) == "s3cret")
    #expect(authenticator.questions.suffix(2).map(\.control) == [.biometryAny, .devicePasscode])
    try await stricter.close()
  }

  @Test("Streams ask for each value, deliver a refusal once and do not ask again by themselves")
  func streams() async throws {
    let router = router(authenticator)
    let pin = key("pin", .userPresence)
    try await router.set("1", for: pin)
    let values = try await router.values(of: pin)
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next()?.get() == "1")
    #expect(questions == 1)
    authenticator.answer = .cancelled
    try await router.set("2", for: pin)
    let failure = await iterator.next()
    guard case .failure(let error)? = failure else { throw TestFailure("\(String(describing: failure))") }
    #expect(error.code == .authenticationCancelled)
    #expect(questions == 2)
    authenticator.answer = .confirmed
    // Nothing but a change asks again.
    let next = Task { [values] in await values.first { _ in true } }
    try await Task.sleep(for: .seconds(2))  // time passes: other failed reads are repeated sooner
    #expect(questions == 2)
    try await router.set("3", for: pin)
    #expect(try await finish(next, within: .seconds(20))?.get() == "3")
    #expect(questions == 3)
    try await router.close()
  }

  @Test("A stream whose task is cancelled does not wait for the answer, and withdraws the question")
  func cancelledStream() async throws {
    let waiting = ScriptedAuthenticator(waits: true)
    let router = router(waiting)
    let pin = key("pin", .userPresence)
    try await router.set("1", for: pin)
    let reading = Task {
      for await _ in try await router.values(of: pin) {}
    }
    try await waiting.asked(1)
    reading.cancel()
    _ = try? await finish(reading, within: .seconds(20))
    try await eventually("the first question is withdrawn") { waiting.cancelled == 1 }
    let get = Task { try await router.get(pin) }
    try await waiting.asked(2)
    get.cancel()
    await #expect(throws: CancellationError.self) { _ = try await finish(get, within: .seconds(20)) }
    try await eventually("the second question is withdrawn") { waiting.cancelled == 2 }
    try await router.close()
  }

  @Test("Within a grace period one answer serves all keys and stores of a context")
  func grace() async throws {
    let router = router(authenticator, grace: .seconds(600))
    try await router.set("1", for: key("a", .userPresence))
    try await router.set("2", for: key("b", .userPresence))
    try await router.set("3", for: key("c", .biometryAny))
    #expect(try await router.get(key("a", .userPresence)) == "1")
    #expect(try await router.get(key("b", .userPresence)) == "2")
    #expect(questions == 1)
    #expect(try await router.get(key("c", .biometryAny)) == "3")
    #expect(questions == 2)
    try await router.close()
  }

  // Requirement 4.26
  @Test("What no authenticator can establish is refused when it is declared, and nothing is written")
  func refusedDeclarations() async throws {
    let fingers = ScriptedAuthenticator(KeychainAccessControl.biometryAny.satisfied)
    for (router, controls) in [
      (router(nil), KeychainAccessControl.allCases),
      (router(fingers), [.biometryCurrentSet, .devicePasscode, .biometryCurrentSetOrDevicePasscode]),
    ] {
      for control in controls {
        let key = key("pin-\(control)", control)
        await expectStorageError(.unsupported, contains: "\(control)") { try await router.set("x", for: key) }
        await expectStorageError(.unsupported, contains: "\(control)") { _ = try await router.get(key) }
      }
      try await router.close()
    }
    #expect(!FileManager.default.fileExists(atPath: file.path))
    let adapter = KeychainAdapter(engine: try await engine(fingers))
    await expectStorageError(.unsupported, contains: "devicePasscode") {
      try await adapter.set(Data([1]), for: "pin", accessControl: .devicePasscode)
    }
    try await adapter.set(Data([1]), for: "pin", accessControl: .biometryAny)
    try await adapter.engine.close()
    #expect(fingers.questions.isEmpty)
  }

  @Test("An update through a store without declarations keeps the access control")
  func updates() async throws {
    try await prepare(.biometryAny)
    let engine = try await engine(authenticator)
    let store = TypedStore(engine: engine)
    try await store.update(String.self, for: "pin") { ($0 ?? "") + "!" }
    #expect(questions == 1)
    #expect(try await engine.summary(of: "pin")?.attributes.accessControl == .biometryAny)
    #expect(try await store.load(String.self, for: "pin") == "\"s3cret\"!")
    #expect(store.cached(String.self, for: "pin") == nil)
    #expect(questions == 2)
    try await engine.close()
  }

  @Test("An access control of a newer version is not read")
  func newer() async throws {
    let engine = try await engine(authenticator)
    var attributes = ValueAttributes()
    attributes[.accessControl] = 9
    try await engine.commit(WriteBatch([.put("pin", Data([1]), attributes)]), from: StoreOrigin())
    await expectStorageError(.newerFormat, contains: "'pin'") { _ = try await engine.entry("pin") }
    #expect(try await engine.contains("pin"))
    #expect(questions == 0)
    try await engine.close()
  }

  @Test("Secrets in memory and in engines of the application are asked for once")
  func otherEngines() async throws {
    for isInMemory in [true, false] {
      let authenticator = ScriptedAuthenticator()
      var configuration = StorageConfiguration()
      configuration.isInMemory = isInMemory
      configuration.unregisteredKeys = .allow
      configuration.authentication = AuthenticationContext(authenticator)
      let pin = key("pin", .userPresence)
      if !isInMemory { configuration.replace(pin.domain, with: try await engine(authenticator)) }
      let router = StorageRouter(configuration: configuration)
      try await router.set("s3cret", for: pin)
      #expect(try await router.get(pin) == "s3cret")
      #expect(authenticator.questions.count == 1)
      #expect(router.cached(pin) == nil)
      #expect(try await router.values(of: pin).first { _ in true }?.get() == "s3cret")
      #expect(authenticator.questions.count == 2)
      authenticator.answer = .refused
      await expectStorageError(.authenticationFailed) { _ = try await router.get(pin) }
      try await router.close()
    }
  }
}

/// The decorator of other engines keeps their promises.
@Suite(.serialized, .timeLimit(.minutes(15))) struct GuardedConformanceTests {
  static let conformance = StorageConformance(name: "guarded") {
    _ in
    let context = AuthenticationContext(ScriptedAuthenticator())
    return GuardedEngine(MemoryEngine(), ReadGuard(context, declared: { _ in .userPresence }))
  }

  @Test(arguments: StorageConformance.checks)
  func conforms(_ check: StorageConformance.Check) async throws { try await Self.conformance.run(check) }
}
