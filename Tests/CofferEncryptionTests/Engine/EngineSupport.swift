import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

extension KeyName {
  /// Returns a key of a name that is known to be valid.
  static func known(_ name: String) -> KeyName { (try? KeyName(name)) ?? "invalid" }
}

extension StorageEngine {
  /// Changes the key ring of this store, as another process would.
  func changeRing(_ change: (inout KeyRing) throws -> Void) async throws {
    let ring = try KeyRingStore(self)
    let open = try await ring.open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }
    _ = try await ring.update(open, change)
  }

  /// Returns the revisions of all values.
  func revisions() async throws -> [KeyName: StoreRevision] {
    var revisions: [KeyName: StoreRevision] = [:]
    for summary in try await summaries() { revisions[summary.key] = summary.revision }
    return revisions
  }

  /// Stores a text.
  @discardableResult
  func put(_ key: KeyName, _ text: String, _ attributes: ValueAttributes = .none) async throws -> StoreCommit {
    try await commit(WriteBatch([.put(key, Data(text.utf8), attributes)]), from: StoreOrigin())
  }

  /// Stores a value in plain although all are encrypted, as who edits the files can.
  func plant(_ key: KeyName, _ text: String) async throws {
    let isMarked = try await record(.onlyEnvelopes) != nil
    try await commit(WriteBatch([.deleteRecord(.onlyEnvelopes)]), from: StoreOrigin())
    try await put(key, text)
    if isMarked { try await commit(WriteBatch([.putRecord(.onlyEnvelopes, Data())]), from: StoreOrigin()) }
  }

  /// Returns a stored text.
  func text(_ key: KeyName) async throws -> String? {
    try await entry(key).map { String(decoding: $0.value, as: UTF8.self) }
  }
}

/// Collects the commits of a stream.
final class Collector: Sendable {
  private let received = Locked<[StoreChange]>([])
  private let task: Task<Void, Never>

  init(_ changes: AsyncStream<StoreChange>) {
    let received = received
    task = Task { for await change in changes { received.withLock { $0.append(change) } } }
  }

  deinit { task.cancel() }

  /// Returns the commits once that of a revision has arrived.
  func commits(upTo revision: StoreRevision) async throws -> [StoreCommit] {
    try await eventually("the commits arrive") { received.withLock { $0.last?.revision ?? .zero } >= revision }
    return received.withLock { $0 }.compactMap { if case .commit(let commit) = $0 { commit } else { nil } }
  }
}

/// An engine that stays open when it is closed.
final class OpenEngine: EngineDecorator {
  let base: any StorageEngine
  init(_ base: any StorageEngine) { self.base = base }
  func close() async throws {}
}

extension TestedStore {
  /// Returns the conformance suite of the encrypted store.
  func encryptedConformance(_ settings: EncryptionSettings) -> StorageConformance {
    var options = StorageConformance.Options(
      commitsToOutrunJournal: 200, commitsAtCreation: 1, largeValueSize: 1 << 20, largeBatchSteps: 400)
    if self != .memory { options.handles = .openAgain }
    return conformance(options, overhead: 1_000).decorated { try await $0.encrypted(settings) }
  }
}

extension StorageEngine {
  /// Returns the engine behind an encryption with a known root key.
  func encrypted(
    _ settings: EncryptionSettings = EncryptionSettings(), seed: String = "root",
    only isEncrypted: (@Sendable (KeyName) -> Bool)? = nil, ifMissing missing: KeyRingStore.Missing? = nil,
    label: String? = nil
  ) async throws -> EncryptedEngine {
    var configuration = EncryptedEngine.Configuration(settings: settings, only: isEncrypted)
    configuration.label = label
    return try await EncryptedEngine.open(self, ifMissing: missing, configuration: configuration) { _ in
      try .forTests(seed)
    }
  }
}

extension StorageEngine {
  /// Encrypts the values of this engine under a known root key.
  func encrypting(_ settings: EncryptionSettings = EncryptionSettings()) async throws -> KeyRotation.Report {
    let configuration = EncryptedEngine.Configuration(settings: settings)
    return try await EncryptedEngine.encrypt(self, configuration: configuration) { _ in try .forTests() }.result()
  }

  /// Decrypts the values of this engine with a known root key.
  func decrypting(only isEncrypted: (@Sendable (KeyName) -> Bool)? = nil) async throws -> KeyRotation.Report {
    let configuration = EncryptedEngine.Configuration(only: isEncrypted)
    return try await EncryptedEngine.decrypt(self, configuration: configuration) { _ in try .forTests() }.result()
  }
}

extension EncryptionSettings {
  /// Hidden names.
  static let hidden = EncryptionSettings(hidesNames: true)
  /// Everything that can be hidden.
  static let secret = EncryptionSettings(algorithm: .chaCha20Poly1305, hidesNames: true, padsValues: true)
}
