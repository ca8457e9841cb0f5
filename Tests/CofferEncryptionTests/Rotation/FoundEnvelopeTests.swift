import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Decrypts a store of files of which one was put back from a backup, so that the journal knows it as an edit.
@Suite struct FoundEnvelopeTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func base() async throws -> any StorageEngine { try await TestedStore.file.open(in: directory.url) }

  /// Returns an encrypted store whose older value was put back.
  private func putBack(_ attributes: ValueAttributes, only: (@Sendable (KeyName) -> Bool)?) async throws
    -> EncryptedEngine
  {
    let engine = try await base().encrypted(only: only)
    try await engine.put("token", "older", attributes)
    let file = URL(fileURLWithPath: directory.path("files/token"))
    let backup = try Data(contentsOf: file)
    try await engine.put("token", "newer", attributes)
    try await engine.close()
    try backup.write(to: file, options: .atomic)
    return try await base().encrypted(only: only)
  }

  private static let ofToken: @Sendable (KeyName) -> Bool = { $0 == "token" }

  @Test("It is decrypted with the others", arguments: [false, true])
  func opens(onlyDeclared: Bool) async throws {
    let only = onlyDeclared ? Self.ofToken : nil
    let engine = try await putBack(.none, only: only)
    let report = try await engine.base.decrypting(only: only)
    #expect(report.isComplete && report.changedValues == 1, "\(report)")
    #expect(try await engine.base.text("token") == "older")
    #expect(try await engine.base.record(.keyRing) == nil)
    try await engine.close()
  }

  @Test("If it does not open, the key ring stays", arguments: [false, true])
  func doesNotOpen(onlyDeclared: Bool) async throws {
    var attributes = ValueAttributes()
    attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 7
    let only = onlyDeclared ? Self.ofToken : nil
    let engine = try await putBack(attributes, only: only)
    let report = try await engine.base.decrypting(only: only)
    #expect(report.failures.map(\.error.code) == [.damaged], "\(report)")
    #expect(try await engine.base.record(.keyRing) != nil)
    // With the value removed, nothing needs the ring any more.
    try await engine.base.commit(WriteBatch([.delete("token")]), from: StoreOrigin())
    #expect(try await engine.base.decrypting(only: only).isComplete)
    #expect(try await engine.base.record(.keyRing) == nil)
    try await engine.close()
  }
}
