import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Testing

@Suite("Encrypted stores conform to the storage contract", .serialized) struct EncryptedConformanceTests {
  /// The other combinations run with the long proofs.
  private static let withPlainNames: [TestedStore] = isProving ? TestedStore.with(.plain) : [.sqlite, .prefs]
  private static let withHiddenNames: [TestedStore] = isProving ? TestedStore.with(.plain) : [.memory, .sqlite, .file]

  @Test(.serialized, arguments: StorageConformance.checks, withPlainNames)
  func conforms(_ check: StorageConformance.Check, _ base: TestedStore) async throws {
    try await base.encryptedConformance(EncryptionSettings()).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks, withHiddenNames)
  func conformsWithHiddenNames(_ check: StorageConformance.Check, _ base: TestedStore) async throws {
    try await base.encryptedConformance(.secret).run(check)
  }

  @Test(.serialized, arguments: StorageConformance.checks)
  func conformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await TestedStore.sqlite.encryptedConformance(.hidden).twoDeep.run(check)
  }
}
