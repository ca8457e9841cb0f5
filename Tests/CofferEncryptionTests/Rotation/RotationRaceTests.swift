import CofferCore
import CofferEncryption
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
    #expect(try await ring(of: base).entries.count == 1)
    for number in 0..<20 { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    try await engine.close()
  }

  @Test("A rotation writes no value again whose key was destroyed meanwhile", arguments: [false, true])
  func destroyedKeys(_ hidesNames: Bool) async throws {
    let base = MemoryEngine()
    let hooked = HookedEngine(base)
    let engine = try await hooked.encrypted(EncryptionSettings(hidesNames: hidesNames))
    for number in 0..<20 { try await engine.put(.known("k/\(number)"), "value \(number)") }
    hooked.beforeNextPut {
      try await base.changeRing { _ = try $0.destroyAll(now: Date(), replacingIndexKey: hidesNames) }
    }
    let error = try await storageError { _ = try await engine.rotate().result() }
    #expect(error.code == .busy)
    let entries = try await base.withAllStored { try await $0.page(prefix: nil, after: nil, limit: 100) }
    let ring = try await ring(of: base)
    #expect(entries.count == 20)
    for entry in entries { #expect(try ring.keys[EnvelopeHeader(of: entry.value).keyID] == nil) }
    _ = try await engine.shred()
    #expect(try await engine.summaries().isEmpty)
    try await engine.close()
  }

  @Test("A rotation writes no value again whose single key was destroyed meanwhile")
  func destroyedKey() async throws {
    let base = MemoryEngine()
    let hooked = HookedEngine(base)
    let engine = try await hooked.encrypted()
    for number in 0..<20 { try await engine.put(.known("k/\(number)"), "value \(number)") }
    let old = try await ring(of: base).primary.id
    hooked.beforeNextPut { try await base.changeRing { try $0.destroy(old, now: Date()) } }
    let report = try await engine.rotate().result()
    #expect(report.failures.count == 20 && report.changedValues == 0)
    #expect(report.failures.allSatisfy { $0.error.code == .keyUnavailable })
    try await engine.close()
  }

  @Test("A rotation goes on when another process writes the same ring anew meanwhile")
  func sameRing() async throws {
    let base = MemoryEngine()
    let hooked = HookedEngine(base)
    let engine = try await hooked.encrypted()
    for number in 0..<20 { try await engine.put(.known("k/\(number)"), "value \(number)") }
    hooked.beforeNextPut { try await base.changeRing { _ in } }
    let report = try await engine.rotate().result()
    #expect(report.isComplete && report.changedValues == 20 && report.removedKeys.count == 1)
    for number in 0..<20 { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    try await engine.close()
  }

  private func ring(of base: any StorageEngine) async throws -> KeyRing {
    try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }.ring
  }
}
