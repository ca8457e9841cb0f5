import CofferVault
import Foundation
import Testing

/// Document 4: what it names, used with nothing but the package's import.
@Suite struct NamespaceDocumentTests {
  private static let document = DocumentTests.document.deletingLastPathComponent()
    .appendingPathComponent("4-local-data.md")
  private static let isPresent = FileManager.default.isReadableFile(atPath: document.path)

  private static let types: [Any.Type] = [
    (any StorageKey).self, StorageRouter.self, (any StorageProviding).self, (any StorageKeyCatalog).self,
    (any StorageMigration).self, KeychainHelper.self, EncryptionHelper.self, FileStorageHelper.self,
    UserDefaultsHelper.self, SyncHelper.self, StorageDomain.self, SecurityPolicy.self, Serializer<Int>.self,
    KeyMaterialSource.self, PlatformAvailability.self, SyncPolicy.self, KeychainAccessibility.self,
    KeychainAccessControl.self, FileDirectory.self, StorageError.self, StorageKeyDescriptor.self, AnyStorageKey.self,
    AnyStorageMigration.self, AnyCodable.self, MigrationContext.self, MigrationResult.self, MigrationError.self,
    DeviceInfo.self, SystemInfo.self,
  ]

  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(document.path)"))
  func everyTypeExists() throws {
    let parts = try String(contentsOf: Self.document, encoding: .utf8).components(separatedBy: "**")
    // Every second part is bold.
    let printed = Set(
      parts.enumerated().filter { $0.offset % 2 == 1 }.flatMap { $0.element.components(separatedBy: " / ") })
    let names = Self.types.map { "\($0)".replacing("any ", with: "").prefix { $0.isLetter } }
    #expect(printed.subtracting(names.map(String.init)) == ["StorageKey.migration"])
    #expect(names.count == printed.count - 1)
  }

  @Test func everyCaseExists() async throws {
    let domains: [StorageDomain] = [
      .userDefaults(), .appGroupUserDefaults(), .keychain(), .fileSystem(.documents), .encryptedFileSystem(.caches),
      .appGroupFileSystem(),
    ]
    let policies: [SecurityPolicy] = [
      .none, .keychain(accessibility: .whenUnlocked, accessControl: .userPresence), .encrypted(.aes256),
      .encrypted(.chaCha20Poly1305),
    ]
    let serializers: [Serializer<Data>] = [
      .json, .propertyList, .data,
      .custom(name: "reversed") {
        Data($0.reversed())
      } decode: {
        Data($0.reversed())
      },
    ]
    #expect(Set(domains).count == 6 && Set(policies).count == 4 && Set(serializers.map(\.name)).count == 4)
    #expect(PlatformAvailability.allCases == [.all, .phoneOnly, .watchOnly, .phoneWithWatchSync])
    #expect(SyncPolicy.allCases == [.never, .manual, .automaticSmall])
    #expect(KeychainAccessibility.allCases.count == 7 && KeychainAccessControl.allCases.count == 6)
    let _: [FileDirectory] = [.documents, .caches, .custom(URL(fileURLWithPath: "/tmp"))]
    let router = StorageRouter()
    await #expect(throws: StorageError.self, "no transport") { try await router.syncRegisteredKeysIfNeeded() }
    let _: SyncSnapshot = try await router.syncSnapshot()
    #expect(router !== StorageRouter.shared)
    #expect(SwiftVaultStorageType.mock != .userDefaults())
  }

  @Test func theEncryptionHelperTakesAPassphrase() async throws {
    let helper = EncryptionHelper()
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("passphrase-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let mode = [FileAttributeKey.posixPermissions: 0o600]
    #expect(FileManager.default.createFile(atPath: file.path, contents: Data("correct horse".utf8), attributes: mode))
    let passphrase = PassphraseSource.file(file)
    let sealed = try await helper.encrypt(Data("s3cret".utf8), name: "token", passphrase: passphrase)
    #expect(try await helper.decrypt(sealed, name: "token", passphrase: passphrase) == Data("s3cret".utf8))
  }
}
