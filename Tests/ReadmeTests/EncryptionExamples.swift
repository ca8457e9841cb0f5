import CofferRouter
import Foundation
import Testing

// The Swift code of the article Encryption, compiled and run: ReadmeTests compares them line by line.

@Suite("The examples of encryption run")
struct EncryptionExamples {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-encryption-\(UUID())")

  @Test func examples() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (keyFile, database) = (folder.appendingPathComponent("key"), folder.appendingPathComponent("shop.db"))
    let (notes, anchors) = (folder.appendingPathComponent("notes"), folder.appendingPathComponent("anchors"))
    let isCreated = FileManager.default.createFile(
      atPath: keyFile.path, contents: Data(1..<33), attributes: [.posixPermissions: 0o600])
    #expect(isCreated)

    var configuration = StorageConfiguration()
    configuration.encryption.key = .file(keyFile)

    let token = TypedKey<String>(
      secret: "token", in: .database(database), owner: "Account", about: "The session at the shop.")
    let draft = TypedKey<String>(
      "draft", in: .database(database), owner: "Notes", about: "An unsent note.", as: .json,
      security: .encrypted(.chaCha20Poly1305))

    configuration.encryption.settings.hidesNames = true
    configuration.encryption.settings.padsValues = true
    let note = TypedKey<String>(
      "note", in: .encryptedFileSystem(.custom(notes)), owner: "Notes", about: "A note.", as: .json)

    configuration.encryption.label = { store in store.hasSuffix("/journal.db") ? "journal" : nil }

    configuration.encryption.automaticRotation = KeyRotation.Policy(maximumAge: .seconds(90 * 86_400))

    configuration.encryption.rollbackProtection = { store in
      RollbackProtection(anchor: FileAnchor(in: anchors, for: store))
    }

    let router = StorageRouter(configuration: configuration)
    try await router.set("s3cret", for: token)
    try await router.set("Dear", for: draft)
    try await router.set("Milk", for: note)

    let report = try await router.rotateKeys().result()
    for failure in report.failures { print(failure) }

    #expect(report.isComplete && report.stores.count == 2)
    #expect(try await [router.get(token), router.get(draft), router.get(note)] == ["s3cret", "Dear", "Milk"])

    let plan = try await router.shred(domain: .database(database), dryRun: true)
    if plan.values > 0 { try await router.shred(domain: .database(database)) }

    #expect(plan.values == 2)
    #expect(try await !router.exists(token))
    #expect(try await router.get(note) == "Milk")
    try await router.close()
  }
}
