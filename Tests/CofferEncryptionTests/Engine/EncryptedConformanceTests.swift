import CofferCore
import CofferEncryption
import CofferTesting
import Testing

@Suite("Encrypted stores conform to the storage contract", .serialized) struct EncryptedConformanceTests {
  @Test(.serialized, arguments: StorageConformance.checks, BaseStore.allCases)
  func conforms(_ check: StorageConformance.Check, _ base: BaseStore) async throws {
    try await base.conformance(EncryptionSettings()).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks, BaseStore.allCases)
  func conformsWithHiddenNames(_ check: StorageConformance.Check, _ base: BaseStore) async throws {
    try await base.conformance(.secret).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks)
  func conformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await BaseStore.sqlite.conformance(.hidden).twoDeep.run(check)
  }
}
