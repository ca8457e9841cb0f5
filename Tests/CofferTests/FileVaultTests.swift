import CofferFiles
import CofferVault
import Foundation
import Testing

/// The file vault, and the defects of the original implementation that it must not have.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FileVaultTests {
  let directories: PrivateDirectories

  init() throws { directories = try PrivateDirectories() }

  private func vault(_ location: SwiftVault.FileSystemLocation = .default) throws -> EngineVaultService {
    try directories.use(bundleIdentifier: "com.example.shop") { try SwiftVault.fileSystem(location: location) }
  }

  private var files: URL { directories.applicationSupport.appendingPathComponent("com.example.shop/SwiftVaultData") }

  // Requirements 0.45, 1.41
  @Test func aValueIsAFileOfItsOwnBytes() async throws {
    let vault = try vault()
    let data = Data(#"{"name":"John"}"#.utf8)
    try await vault.saveData(data, forKey: "current_user", transactionID: UUID())
    #expect(try Data(contentsOf: files.appendingPathComponent("current_user")) == data)
    #expect(mode(files.appendingPathComponent("current_user").path) == 0o600)
    #expect(mode(files.path) == 0o700)
    #expect(try await vault.loadData(forKey: "current_user") == data)
    try await vault.remove(forKey: "current_user")
    #expect(await !vault.exists(forKey: "current_user"))
    try await vault.remove(forKey: "current_user")
  }

  @Test func keysNeverEscape() async throws {
    let vault = try vault()
    for key in ["../x", "/etc/passwd", "a/b", "..", ".coffer", "CON", "\u{0}"] {
      try await vault.saveData(Data(key.utf8), forKey: key, transactionID: UUID())
      #expect(try await vault.loadData(forKey: key) == Data(key.utf8))
    }
    let outside = try directories.contents().filter { !$0.contains("SwiftVaultData/") }
    #expect(outside.allSatisfy { "\(files.path)/".hasPrefix(directories.path($0) + "/") }, "\(outside)")
  }

  // Requirement 0.20
  @Test func clearAllLeavesWhatIsNotItsOwn() async throws {
    let shared = try vault(.appGroup(identifier: "group.shop"))
    let container = directories.applicationSupport.appendingPathComponent("group.shop")
    let own = container.appendingPathComponent("SwiftVaultData")
    for folder in [container, own] {
      let photos = folder.appendingPathComponent("Photos")
      try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: false)
      for name in ["Photos/a.jpg", "notes~"] { try Data("x".utf8).write(to: folder.appendingPathComponent(name)) }
    }
    // These names are valid keys.
    for name in ["orders.sqlite", "notes"] { try Data("x".utf8).write(to: container.appendingPathComponent(name)) }
    try await shared.saveData(Data(), forKey: "a", transactionID: UUID())
    try await shared.clearAll()
    #expect(await !shared.exists(forKey: "a"))
    let left = try FileManager.default.subpathsOfDirectory(atPath: container.path)
      .filter { !$0.contains(".coffer") }.sorted()
    #expect(
      left == [
        "Photos", "Photos/a.jpg", "SwiftVaultData", "SwiftVaultData/Photos", "SwiftVaultData/Photos/a.jpg",
        "SwiftVaultData/notes~", "notes", "notes~", "orders.sqlite",
      ])
    #expect(mode(container.path) == 0o700)
  }

  // Requirement 0.23
  @Test func othersAreHeardOnceWithTheirTransactionAndEditorsWithoutOne() async throws {
    let location = SwiftVault.FileSystemLocation.custom(directory: directories.root.appendingPathComponent("vault"))
    let (app, widget) = (try vault(location), try vault(location))
    let changes = widget.externalChanges
    let transaction = UUID()
    try await widget.saveData(Data("own".utf8), forKey: "theme", transactionID: UUID())
    try await app.saveData(Data("dark".utf8), forKey: "theme", transactionID: transaction)
    #expect(try await take(1, from: changes)[0] == ("theme", transaction))
    try Data("light".utf8).write(to: directories.root.appendingPathComponent("vault/theme"))
    #expect(try await take(1, from: changes)[0] == ("theme", nil))
    #expect(try await widget.loadData(forKey: "theme") == Data("light".utf8))
  }

  @Test func whatCannotBeOpenedSaysWhy() throws {
    #expect(
      throws: SwiftVaultError.appGroupContainerUnavailable(
        appGroupId: "../x", underlyingError: SwiftVaultError.clearAllFailed())
    ) { try vault(.appGroup(identifier: "../x")) }
    let remote = try #require(URL(string: "https://example.com/vault"))
    #expect(
      throws: SwiftVaultError.unsupportedOperation(
        description: "the URL of the directory is not the URL of a file")
    ) { try vault(.custom(directory: remote)) }
    try Data().write(to: directories.root.appendingPathComponent("file"))
    #expect {
      try vault(.custom(directory: directories.root.appendingPathComponent("file")))
    } throws: { error in
      guard case SwiftVaultError.initializationFailed(let reason) = error else { return false }
      return reason.contains("There is a file where a directory should be")
    }
  }

  @Test func anAdapterThatCannotBeOpenedThrowsAtEveryUse() async throws {
    try Data().write(to: directories.root.appendingPathComponent("file"))
    let adapter = FileStorageAdapter(directory: directories.root.appendingPathComponent("file"))
    await #expect(throws: StorageError.self) { try await adapter.read(key: "a") }
    await #expect(throws: StorageError.self) { try await adapter.write(key: "a", data: Data()) }
    #expect(await adapter.exists(key: "a"), "what cannot be read is not proven absent")
  }

  @Test func keysAndSizesAreKnownWithoutReading() async throws {
    let root = directories.root.appendingPathComponent("sizes")
    let adapter = try await FileStorageAdapter.open(directory: root)
    for (key, size) in [("b/1", 10), ("b/2", 0), ("a", 3)] {
      try await adapter.write(key: key, data: Data(count: size))
    }
    #expect(try await adapter.keys() == ["a", "b/1", "b/2"])
    #expect(try await adapter.keys(prefix: "b/") == ["b/1", "b/2"])
    #expect(try await adapter.size(key: "b/1") == 10)
    #expect(try await adapter.size(key: "c") == nil)
    #expect(try await adapter.totalSize() == 13)
    try Data(count: 5).write(to: root.appendingPathComponent("a"))
    #expect(try await adapter.size(key: "a") == 5)
    try FileManager.default.removeItem(at: root.appendingPathComponent("a"))
    #expect(try await adapter.size(key: "a") == nil)
    #expect(try await adapter.totalSize() == 10)
  }

  private struct UserPreferencesClient {}
  struct OrdersClient {}

  // Requirements 1.13, 1.42
  @Test func clientsHaveDirectoriesOfTheirOwn() async throws {
    let root = directories.root.appendingPathComponent("clients")
    let (first, second) = (
      FileStorageAdapter(directory: root, client: UserPreferencesClient.self),
      FileStorageAdapter(directory: root, client: OrdersClient.self)
    )
    try await first.write(key: "theme", data: Data("a".utf8))
    try await second.write(key: "theme", data: Data("b".utf8))
    #expect(try await first.read(key: "theme") == Data("a".utf8))
    #expect(try await second.read(key: "theme") == Data("b".utf8))
    let names = try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
    #expect(names.count == 2 && names.contains("+coffer+tests.+file+vault+tests.+orders+client"), "\(names)")
  }
}
