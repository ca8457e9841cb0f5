import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RootKeySourceTests {
  private let folder: TemporaryDirectory
  private let material = Data((0..<40).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) })
  private let low = ScryptCost(logN: 10, r: 1, p: 1)
  init() throws { folder = try TemporaryDirectory() }

  private func open(
    _ source: RootKeySource, _ engine: any StorageEngine = MemoryEngine()
  ) async throws -> OpenKeyRing {
    try await KeyRingStore(engine).open(with: source, settings: EncryptionSettings())
  }

  private func file(_ content: Data, mode: Int = 0o600, name: String = "key") throws -> RootKeySource {
    let path = folder.path(name)
    try content.write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return .file(path)
  }

  // Requirement 4.22
  @Test func theSameMaterialOpensFromEverySource() async throws {
    let engine = MemoryEngine()
    let first = try await open(file(material), engine)
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(material)
    try pipe.fileHandleForWriting.close()
    let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
    for source: RootKeySource in [
      try file(material, mode: 0o400, name: "other"), .descriptor(descriptor),
      .provider(Provider { [material] _ in material }, named: "a"),
    ] {
      #expect(try await open(source, engine).ring == first.ring)
    }
    let reader = RootKeyReader(
      .systemdCredential("key"), in: PassphraseSurroundings(credentialsDirectory: { [folder] in folder.path("") }))
    let found = try await KeyRingStore(engine).open(settings: EncryptionSettings()) {
      try await reader.rootKey(for: $0)
    }
    #expect(found.ring == first.ring)
  }

  @Test func aNewlineAfterTextDoesNotCount() async throws {
    let engine = MemoryEngine()
    let text = String(repeating: "0123456789abcdef", count: 2)
    let first = try await open(file(Data(text.utf8)), engine)
    for end in ["\n", "\r\n"] {
      #expect(try await open(file(Data((text + end).utf8)), engine).ring == first.ring)
    }
    #expect(
      try await storageError { _ = try await open(file(Data((text + "\n\n").utf8)), engine) }.code == .wrongPassphrase)
    // In binary material every byte counts.
    let binary = Data((0..<31).map { UInt8($0) }) + Data("\n".utf8)
    _ = try await open(file(binary))
  }

  @Test func badMaterialIsRefused() async throws {
    let samples: [(Data, String)] = [
      (Data(), "0 bytes"), (material.prefix(31), "31 bytes"),
      (Data("0123456789abcdef0123456789abcde\n".utf8), "31 bytes"),
      (Data(count: 32), "repeats"), (Data(repeating: 65, count: 64), "repeats"), (Data(count: 65 << 10), "64 KiB"),
    ]
    for (content, text) in samples {
      let error = try await storageError { _ = try await open(file(content)) }
      #expect(error.code == .invalidKeyMaterial && error.message.contains(text), "\(error)")
      let source = RootKeySource.provider(Provider { _ in content }, named: "a")
      #expect(try await storageError { _ = try await open(source) }.code == .invalidKeyMaterial)
    }
  }

  @Test(arguments: [0o640, 0o604, 0o644, 0o620, 0o602, 0o777]) func filesOfOthersAreRefused(_ mode: Int) async throws {
    let error = try await storageError { _ = try await open(file(material, mode: mode)) }
    #expect(error.code == .permissionDenied && error.message.contains(String(mode, radix: 8)))
  }

  @Test func missingSourcesAreErrors() async throws {
    #expect(try await storageError { _ = try await open(.file(folder.path("none"))) }.code == .unavailable)
    #expect(try await storageError { _ = try await open(.file(folder.path(""))) }.code == .unsupported)
    #expect(try await storageError { _ = try await open(.systemdCredential("../key")) }.code == .unsupported)
    #expect(try await storageError { _ = try await open(.descriptor(1 << 20)) }.code == .closed)
  }

  // MARK: Passphrases

  private func passphrase(_ text: String, limits: PassphraseLimits = PassphraseLimits()) -> RootKeySource {
    .passphrase(.provided { Data(text.utf8) }, limits: limits, cost: low)
  }

  @Test func aPassphraseOpensItsRing() async throws {
    let engine = MemoryEngine()
    let first = try await open(passphrase("correct horse"), engine)
    #expect(try await open(passphrase("correct horse\n"), engine).ring == first.ring)
    #expect(try await storageError { _ = try await open(passphrase("correct house"), engine) }.code == .wrongPassphrase)
    #expect(try await storageError { _ = try await open(passphrase(""), engine) }.code == .invalidPassphrase)
    #expect(engine.latestRevision == StoreRevision(1))
  }

  @Test func passphrasesAndMaterialAreNotConfused() async throws {
    let engine = MemoryEngine()
    _ = try await open(passphrase("correct horse"), engine)
    let error = try await storageError { _ = try await open(file(material), engine) }
    #expect(error.code == .wrongPassphrase && error.message.contains("with a passphrase"))
    let other = MemoryEngine()
    _ = try await open(file(material), other)
    let reverse = try await storageError { _ = try await open(passphrase("correct horse"), other) }
    #expect(reverse.code == .wrongPassphrase && reverse.message.contains("with key material"))
  }

  /// A header that demands a terabyte is refused before the passphrase is read or memory is allocated.
  @Test func excessiveCostsAreRefused() async throws {
    for cost in [
      ScryptCost(logN: 30, r: 8, p: 1), ScryptCost(logN: 255, r: 1 << 31, p: 1 << 31),
      ScryptCost(logN: 10, r: 1, p: 1 << 30),
      ScryptCost(logN: 0, r: 0, p: 0), ScryptCost(logN: 9, r: 1, p: 1),
    ] {
      let engine = MemoryEngine()
      let known = try await open(passphrase("correct horse"), engine)
      let content = try #require(try await engine.record(.keyRing)?.content)
      var hostile = content.dropLast(32)
      hostile[10] = UInt8(cost.logN)
      for shift in 0..<4 {
        hostile[12 + shift] = UInt8(truncatingIfNeeded: cost.r >> (24 - 8 * shift))
        hostile[16 + shift] = UInt8(truncatingIfNeeded: cost.p >> (24 - 8 * shift))
      }
      hostile += sha256(hostile)
      try await engine.commit(
        WriteBatch([.putRecord(.keyRing, hostile), .putRecord(.keyRingCopy, hostile)]),
        from: StoreOrigin())
      let source = RootKeySource.passphrase(
        .provided {
          Issue.record("the passphrase was requested")
          return Data()
        })
      let error = try await storageError { _ = try await open(source, engine) }
      #expect(error.code == .unsupported && error.location == "memory:memory", "\(error)")
      #expect(known.ring.generation == 1 && engine.latestRevision == StoreRevision(2))
    }
  }

  // MARK: Providers

  @Test(.timeLimit(.minutes(1))) func aProviderThatHangsIsLate() async throws {
    let source = RootKeySource.provider(
      Provider { _ in
        try? await hang()
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return Data()
      }, named: "slow\u{1B}[2J", timeout: .milliseconds(20))
    let error = try await storageError { _ = try await open(source) }
    #expect(error.code == .unavailable && error.message.contains("did not answer"))
    #expect(!error.description.contains("\u{1B}"))
  }

  @Test(.timeLimit(.minutes(1))) func cancellationDoesNotWaitForAProvider() async throws {
    let (stream, started) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await open(
        .provider(
          Provider { _ in
            started.yield()
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return Data()
          }, named: "never"))
    }
    for await _ in stream { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  @Test(.timeLimit(.minutes(1))) func cancellationDoesNotWaitForAPipe() async throws {
    let pipe = Pipe()
    let task = Task { try await open(.descriptor(dup(pipe.fileHandleForReading.fileDescriptor))) }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    try pipe.fileHandleForWriting.close()
  }

  private struct Leak: Error, CustomStringConvertible { let description: String }

  @Test func anErrorOfAProviderRevealsNothing() async throws {
    let source = RootKeySource.provider(Provider { _ in throw Leak(description: "material-1234") }, named: "a")
    let error = try await storageError { _ = try await open(source) }
    #expect(error.code == .unavailable && !error.description.contains("1234") && error.description.contains("Leak"))
    let cancelled = RootKeySource.provider(Provider { _ in throw CancellationError() }, named: "a")
    #expect(try await storageError { _ = try await open(cancelled) }.code == .unavailable)
  }

  @Test func aProviderThatChangesItsMindCreatesNothing() async throws {
    let engine = MemoryEngine()
    let calls = Locked(UInt8(0))
    let source = RootKeySource.provider(
      Provider { [material] _ in
        material
          + Data([
            calls.withLock {
              $0 += 1
              return $0
            }
          ])
      }, named: "a")
    #expect(try await storageError { _ = try await open(source, engine) }.code == .invalidKeyMaterial)
    #expect(engine.latestRevision == .zero)
    // Later it is a wrong key.
    _ = try await open(file(material), engine)
    #expect(try await storageError { _ = try await open(source, engine) }.code == .wrongPassphrase)
  }

  @Test func aHugeAnswerIsRefused() async throws {
    let source = RootKeySource.provider(Provider { _ in Data(count: 1 << 30) }, named: "a")
    let error = try await storageError { _ = try await open(source) }
    #expect(error.code == .invalidKeyMaterial && error.message.contains("1073741824"))
  }

  // MARK: Changing the root key

  @Test func anotherSourceReplacesTheOld() async throws {
    let engine = MemoryEngine()
    let first = try await open(passphrase("correct horse"), engine)
    let changed = try await KeyRingStore(engine).reseal(first, with: file(material))
    #expect(changed.ring.entries == first.ring.entries && changed.ring.storeID == first.ring.storeID)
    #expect(try await storageError { _ = try await open(passphrase("correct horse"), engine) }.code == .wrongPassphrase)
    #expect(try await open(file(material), engine).ring == changed.ring)
    // The same material again has another salt, and so another root key.
    let again = try await KeyRingStore(engine).reseal(changed, with: file(material))
    #expect(again.root != changed.root)
    #expect(try await open(file(material), engine).ring == again.ring)
  }

  @Test func sourcesAreComparedAndDescribedByName() throws {
    #expect(RootKeySource.file("/a") == .file(URL(fileURLWithPath: "/a")) && RootKeySource.file("/a") != .file("/b"))
    #expect(RootKeySource.file("/a") != .passphrase(.file(URL(fileURLWithPath: "/a"))))
    let provider = Provider { _ in Data() }
    #expect(RootKeySource.provider(provider, named: "a") == .provider(provider, named: "a", timeout: .seconds(1)))
    #expect(RootKeySource.provider(provider, named: "a") != .provider(provider, named: "b"))
    #expect("\(RootKeySource.file("/a"))" == "the file '/a'")
    #expect("\(RootKeySource.provider(provider, named: "a"))" == "the key provider 'a'")
    var text = ""
    dump(RootKeySource.provider(provider, named: "a"), to: &text)
    #expect(!text.contains("Provider("))
  }
}

/// A provider that calls a closure.
private struct Provider: KeyMaterialProviding {
  let provide: @Sendable (KeyMaterialSource) async throws -> Data
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data { try await provide(source) }
}
