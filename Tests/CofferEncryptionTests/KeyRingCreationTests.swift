import CofferCore
import CofferEncryption
import Foundation
import Testing

/// Another process creates the key ring of a store and stores a value under it, between two looks of this one.
@Suite(.timeLimit(.minutes(5))) struct KeyRingCreationTests {
  private struct Material: KeyMaterialProviding {
    func keyMaterial(for source: KeyMaterialSource) async throws -> Data { Data(7..<39) }
  }

  /// An engine that runs a closure after a record was read for the n-th time.
  private final class HookedEngine: EngineDecorator {
    let base: any StorageEngine
    private let number: Int
    private let looks = Locked(0)
    private let body: @Sendable () async throws -> Void

    init(_ base: any StorageEngine, after number: Int, _ body: @escaping @Sendable () async throws -> Void) {
      (self.base, self.number, self.body) = (base, number, body)
    }

    func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
      let found = try await base.record(name)
      let look = looks.withLock { looks in
        looks += 1
        return looks
      }
      if look == number { try await body() }
      return found
    }
  }

  enum Opening: CaseIterable, Sendable {
    case new, single, plainValues
  }

  @Test("The ring of the other process is used, and nothing is taken for lost", arguments: Opening.allCases, 1...9)
  func ringOfAnother(_ opening: Opening, number: Int) async throws {
    let key = RootKeySource.provider(Material(), named: "test")
    let base = MemoryEngine()
    let hooked = HookedEngine(base, after: number) {
      let theirs = SelectiveEncryption(
        base, configuration: EncryptedEngine.Configuration(), only: { $0 == "theirs" }, key: { key })
      let all = opening == .single ? nil : try await EncryptedEngine.open(base, key: key)
      try await (all ?? theirs as any StorageEngine).put("theirs", "value")
    }
    let engine: any StorageEngine
    switch opening {
    case .new: engine = try await EncryptedEngine.open(hooked, key: key)
    case .single:
      engine = SelectiveEncryption(
        hooked, configuration: EncryptedEngine.Configuration(), only: { ["ours", "theirs"].contains($0) }, key: { key })
    case .plainValues:
      _ = try await EncryptedEngine.encrypt(hooked, key: key).result()
      engine = try await EncryptedEngine.open(hooked, key: key)
    }
    try await engine.put("ours", "value")
    #expect(try await engine.text("ours") == "value")
    if try await base.entry("theirs") != nil { #expect(try await engine.text("theirs") == "value") }
  }
}
