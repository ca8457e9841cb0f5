import CofferCore
import CofferEncryption
import CofferLocks
import Foundation
import Testing

/// Another process replaces the keys of a store while it is being rotated.
@Suite(.timeLimit(.minutes(5))) struct RotationRaceTests {
  /// An engine that runs a closure before its next commit of values, once.
  private final class HookedEngine: EngineDecorator {
    let base: any StorageEngine
    private let hook = Locked<(@Sendable () async throws -> Void)?>(nil)

    init(_ base: any StorageEngine) { self.base = base }

    func beforeNextPut(_ body: @escaping @Sendable () async throws -> Void) { hook.withLock { $0 = body } }

    func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
      if batch.operations.contains(where: { if case .put = $0 { true } else { false } }) {
        let body = hook.withLock { hook in
          defer { hook = nil }
          return hook
        }
        try await body?()
      }
      return try await base.commit(batch, from: origin)
    }
  }

  @Test("A rotation that meets a newer key ends, and removes no key that a value needs")
  func newerKey() async throws {
    let base = MemoryEngine()
    let hooked = HookedEngine(base)
    let engine = try await hooked.encrypted()
    for number in 0..<20 { try await engine.put(.known("k/\(number)"), "value \(number)") }
    hooked.beforeNextPut { try await base.changeRing { try $0.addPrimary(now: Date()) } }
    let error = try await storageError { _ = try await engine.rotate().result() }
    #expect(error.code == .busy)
    for number in 0..<20 { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    #expect(try await engine.rotate().result().isComplete)
    let ring = try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in
      try .forTests()
    }.ring
    #expect(ring.entries.count == 1)
    for number in 0..<20 { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    try await engine.close()
  }
}
