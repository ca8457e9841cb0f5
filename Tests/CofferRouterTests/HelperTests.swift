import CofferFileSystem
import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// The helpers, over stores on disk.
@Suite(.timeLimit(.minutes(15))) struct HelperTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private func use<R>(_ body: () async throws -> R) async rethrows -> R {
    try await SystemDirectories.$current.withValue(fixture.system, operation: body)
  }

  // Requirements 4.13, 4.17
  @Test("Preferences, of the application and of a suite")
  func preferences() async throws {
    try await use {
      let helper = UserDefaultsHelper()
      try await helper.set("dark", forKey: "theme")
      try await helper.set(3, forKey: "size", suite: "group.shop")
      #expect(try await helper.get(forKey: "theme") == "dark")
      #expect(try await helper.get(forKey: "theme", suite: "group.shop") == nil)
      #expect(try await helper.get(forKey: "size", suite: "group.shop")?.integer == 3)
      #expect(try await helper.allKeys(suite: "group.shop") == ["size"])
      #expect(try await helper.exists(forKey: "theme"))
      try await helper.remove(forKey: "theme")
      try await helper.remove(forKey: "theme")
      #expect(try await !helper.exists(forKey: "theme"))
      await expectError(.unsupported) { try await helper.set("x", forKey: "a", suite: "../a") }
    }
  }

  // Requirements 4.12, 4.17
  @Test("Files, in a directory and in that of an app group")
  func files() async throws {
    try await use {
      let helper = FileStorageHelper()
      for files in [FileStorageHelper.Location.directory(.documents), .appGroup("group.shop")] {
        let data = Data(repeating: 7, count: 1_000)
        try await helper.write(data, to: files, fileName: "a.bin")
        #expect(try await helper.read(from: files, fileName: "a.bin") == data)
        #expect(try await helper.size(in: files, fileName: "a.bin") == 1_000)
        #expect(try await helper.list(in: files) == ["a.bin"])
        #expect(try await helper.exists(in: files, fileName: "a.bin"))
        try await helper.delete(from: files, fileName: "a.bin")
        #expect(try await helper.read(from: files, fileName: "a.bin") == nil)
        #expect(try await !helper.exists(in: files, fileName: "a.bin"))
        #expect(try await helper.size(in: files, fileName: "../../a") == nil)
      }
      await expectError(.invalidDeclaration, "app group") { _ = try await helper.list(in: .appGroup()) }
    }
  }

  // Requirement 4.17
  @Test("Declared keys of an app group, by name and by the configuration's group")
  func appGroups() async throws {
    let settings = configured { $0.appGroup = "group.shop" }
    let size = plain("size", in: .appGroupUserDefaults())
    let receipt = plain("receipt", String.self, in: .appGroupFileSystem(group: "group.other"))
    try await fixture.use(settings) { router in
      try await router.set(3, for: size)
      try await router.set("paid", for: receipt)
    }
    let theirs = plain("size", in: .appGroupUserDefaults(group: "group.shop"))
    try await fixture.use { router in
      let (stored, paid) = (try await router.get(theirs), try await router.get(receipt))
      #expect(stored == 3 && paid == "paid")
      await expectError(.invalidDeclaration, "app group") { _ = try await router.get(size) }
    }
    try await use {
      let preference = try await UserDefaultsHelper().get(forKey: "size", suite: "group.shop")
      let files = try await FileStorageHelper().list(in: .appGroup("group.other"))
      #expect(preference?.integer == 3 && files == ["receipt"])
    }
  }

  // Requirement 4.14
  @Test("A snapshot is sent once, in order, and again after a failure")
  func sync() async throws {
    let (here, there) = InProcessTransport.pair()
    let helper = SyncHelper(transport: here)
    #expect(await helper.isAvailable)
    let snapshot = SyncSnapshot(values: ["a": .init(Data([1]))])
    #expect(try await helper.send { snapshot })
    #expect(try await !helper.send { snapshot })
    #expect(try SyncSnapshot(decoding: try #require(there.received)) == snapshot)
    await helper.forget()
    #expect(try await helper.send { snapshot })
    await expectError(.damaged) {
      _ = try await helper.send { throw StorageError(.damaged, "a test", advice: "none") }
    }
    #expect(try await helper.send { SyncSnapshot(values: [:]) })
    await expectError(.unsupported) { _ = try await SyncHelper(transport: nil).send { snapshot } }
    #expect(try await !helper.send { nil })
  }
}
