import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Testing

@Suite("Encrypted stores conform to the storage contract", .serialized) struct EncryptedConformanceTests {
  /// The other combinations run with the long proofs.
  private static let withPlainNames: [BaseStore] = isProving ? BaseStore.allCases : [.sqlite, .prefs]
  private static let withHiddenNames: [BaseStore] = isProving ? BaseStore.allCases : [.memory, .sqlite, .file]

  @Test(.serialized, arguments: StorageConformance.checks, withPlainNames)
  func conforms(_ check: StorageConformance.Check, _ base: BaseStore) async throws {
    try await base.conformance(EncryptionSettings()).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks, withHiddenNames)
  func conformsWithHiddenNames(_ check: StorageConformance.Check, _ base: BaseStore) async throws {
    try await base.conformance(.secret).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks)
  func conformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await BaseStore.sqlite.conformance(.hidden).twoDeep.run(check)
  }
}
