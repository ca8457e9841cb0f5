import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// What the audit says about the encryption of values.
@Suite(.timeLimit(.minutes(5))) struct EncryptionAuditTests {
  private struct Catalog: StorageKeyCatalog {
    let name = "Shop"
    let allKeys: [AnyStorageKey] = [
      .key(Self.secret), .key(Self.note), .key(Self.plain), .key(Self.hsm),
    ]
    static let secret = key("secret", .database(), .encrypted(.chaCha20Poly1305))
    static let note = key("note", .encryptedFileSystem(.documents), nil)
    static let plain = key("plain", .fileSystem(.documents), nil)
    static let hsm = key(
      "hsm", .fileSystem(.custom(URL(fileURLWithPath: "/nonexistent/of-hsm"))),
      .encrypted(SecurityPolicy.Encryption(.aes256, keyMaterial: "hsm")))
    static func key(_ name: String, _ domain: StorageDomain, _ security: SecurityPolicy?) -> TypedKey<String> {
      TypedKey(name, in: domain, owner: "Shop", about: "A text.", as: .json, security: security)
    }
  }

  // Requirement 4.1
  @Test("The report, the page and the manifest say how each store and each value is protected, and no key")
  func protections() async throws {
    let fixture = try RouterFixture()
    let material = FixedKeyMaterial(first: 65)
    let settings = configured {
      $0.encryption.key = .provider(material, named: "test")
      $0.encryption.settings.hidesNames = true
      $0.encryption.settings.padsValues = true
    }
    try await fixture.use(settings) { router in
      try await router.registerCatalog(Catalog())
      try await router.set("a", for: Catalog.secret)
      try await router.set("b", for: Catalog.note)
      try await router.set("c", for: Catalog.plain)
    }
    try await fixture.use(settings) { router in
      try await router.registerCatalog(Catalog())
      let report = await router.auditReport()
      #expect(report.encryption.count == 2 && report.remarks.isEmpty)
      let all = try #require(report.encryption.first { $0.coversAll })
      #expect(
        all.words == "All values encrypted, AES-256-GCM, key material, names hidden, sizes padded", "\(all.words)")
      let some = try #require(report.encryption.first { !$0.coversAll })
      #expect(
        some.words == "Values of declared keys encrypted, key material, key ring not opened", "an audit asks nobody")
      _ = try await router.get(Catalog.secret)
      let opened = await router.auditReport()
      #expect(
        opened.encryption.contains {
          $0.words == "Values of declared keys encrypted, AES-256-GCM, key material, names in plain, sizes padded"
        }, "\(opened.encryption)")
      let keys = opened.entries.map { "\($0.key.name): \($0.key.security), \($0.key.keySource ?? "none")" }
      #expect(
        keys == [
          "hsm: AES-256-GCM, key of hsm, the provider 'hsm'", "note: encrypted, the key provider 'test'",
          "plain: unprotected, none", "secret: ChaCha20-Poly1305, the key provider 'test'",
        ])
      let page = String(decoding: opened.html, as: UTF8.self)
      #expect(page.contains("names hidden, sizes padded") && page.contains("key of the key provider &#39;test&#39;"))
      let key = String(decoding: Data(65..<97), as: UTF8.self).dropLast(8)
      for text in [page, String(decoding: try opened.encoded, as: UTF8.self)] { #expect(!text.contains(key)) }
    }
  }
}
