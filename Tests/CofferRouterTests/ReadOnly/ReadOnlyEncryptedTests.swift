import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Encrypted stores that a router may only read, before and after another process has used them for the first time.
@Suite(.timeLimit(.minutes(5))) struct ReadOnlyEncryptedTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private func settings(_ access: StoreAccess) -> StorageConfiguration {
    configured {
      $0.access = access
      $0.encryption.key = .provider(FixedKeyMaterial(first: 65), named: "test")
      $0.encryption.settings.hidesNames = true
    }
  }

  private var notes: URL { URL(fileURLWithPath: fixture.path("notes")) }

  // Requirement 5.6
  @Test("A store that is missing or empty reads as empty and stays as it is; once it has values they are read")
  func empty() async throws {
    for exists in [false, true] {
      let folder = notes.appendingPathComponent("\(exists)")
      if exists { try await SlotEngine.files(in: folder).close() }
      let before = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
      let note = plain("note", String.self, in: .encryptedFileSystem(.custom(folder)))
      try await fixture.use(settings(.readOnly)) { router in
        #expect(try await !router.exists(note))
        await expectError(.notFound) { _ = try await router.get(note) }
        for await state in try await router.availability(of: note) {
          #expect(state.isUsable, "\(state)")
          break
        }
        await expectError(.readOnly) { try await router.set("a", for: note) }
        #expect((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) == before)
        try await fixture.use(settings(.readWrite)) { try await $0.set("Milk", for: note) }
        #expect(try await router.get(note) == "Milk")
        await expectError(.readOnly) { try await router.set("a", for: note) }
      }
    }
  }

  // Requirement 5.6
  @Test("A store of plain values is not taken for an empty one")
  func plainValues() async throws {
    let folder = notes.appendingPathComponent("plain")
    try await fixture.use { try await $0.set("a", for: plain("note", String.self, in: .fileSystem(.custom(folder)))) }
    let note = plain("note", String.self, in: .encryptedFileSystem(.custom(folder)))
    try await fixture.use(settings(.readOnly)) { router in
      await expectError(.keyUnavailable) { _ = try await router.get(note) }
    }
  }
}
