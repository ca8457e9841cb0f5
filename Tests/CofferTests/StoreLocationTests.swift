import Coffer
import CofferEncryption
import CofferFileSystem
import CofferTestSupport
import Foundation
import Testing

/// Parsing, printing and opening of store locations.
struct StoreLocationTests {
  @Test(
    "The printed form of a location parses to an equal location",
    arguments: [
      .sqlite(path: "/var/lib/shop/app.db"), .sqlite(path: "a:b.db"), .sqlite(path: "relative/é.db"),
      .files(directory: "/srv/a b"), .memory(name: ""), .memory(name: "x"), .preferences(suite: "com.example.shop"),
      .keychain(service: "com.example.shop"), .keychain(service: "a", accessGroup: "b"),
      .keychain(service: "a@b+sealed:c", accessGroup: "100 %@+"), .keychain(service: "%40"),
      .sealed(path: "/var/lib/a+b@c.sealed"),
      .chain([.keychain(service: "a@b", accessGroup: "g"), .sealed(path: "/x+sealed:y%40")]),
    ] as [StoreLocation])
  func roundTrip(_ location: StoreLocation) throws {
    #expect(try StoreLocation(location.description) == location)
  }

  @Test("A text without a scheme is the path of a database")
  func plainPaths() throws {
    #expect(try StoreLocation("app.db") == .sqlite(path: "app.db"))
    #expect(try StoreLocation("./file:x") == .sqlite(path: "./file:x"))
  }

  @Test("Names are compared by their bytes, not by canonical equivalence")
  func bytes() {
    let composed = StoreLocation.files(directory: "/caf\u{E9}")
    let decomposed = StoreLocation.files(directory: "/cafe\u{301}")
    #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    #expect(StoreLocation.memory(name: "a") != .preferences(suite: "a"))
    #expect(StoreLocation.keychain(service: "a", accessGroup: "b") != .keychain(service: "a@b"))
  }

  @Test(
    "An invalid location is refused with a message",
    arguments: [
      ("mysql:x", "not a kind of store"), ("sqlite:", "no path"), ("", "no path"), ("dir/", "slash"),
      ("file:", "no directory"), ("prefs:", "no name"), ("keychain:", "empty"), ("keychain:a@", "empty"),
      ("keychain:a%4", "hexadecimal"), ("sealed:", "no path"), ("sealed:x+keychain:a", "last of a chain"),
      ("keychain:a+sealed:", "no path"), ("keychain:+sealed:x", "empty"),
    ])
  func refused(_ text: String, _ reason: String) {
    let error = #expect(throws: StorageError.self) { try StoreLocation(text) }
    #expect(error?.code == .invalidLocation && error?.message.contains(reason) == true, "\(text): \(error as Any)")
  }

  @Test("An invalid location that was not parsed from text is refused when it is opened")
  func madeUp() async {
    for location in [
      StoreLocation.chain([]), .chain([.memory(name: "a")]), .chain([.sealed(path: "/a"), .keychain(service: "b")]),
      .sqlite(path: ""), .other(scheme: "postgresql", address: "x"),
    ] {
      let error = await #expect(throws: StorageError.self) { _ = try await location.open() }
      #expect(error?.code == .invalidLocation, "\(location): \(error as Any)")
    }
  }

  @Test("Every kind that needs no desktop opens, keeps a value and can be reopened")
  func opens() async throws {
    let directory = try TemporaryDirectory()
    let system = SystemDirectories(bundleIdentifier: nil, processName: "tests") { name in
      ["HOME": directory.path("home"), "XDG_CONFIG_HOME": directory.path("config")][name]
    }
    var options = StoreOptions()
    options.passphrase = { _ in .provided { Data("correct horse".utf8) } }
    try await SystemDirectories.$current.withValue(system) {
      for text in [
        "\(directory.path("a.db"))", "file:\(directory.path("files"))", "prefs:com.example.shop",
        "sealed:\(directory.path("s.sealed"))",
      ] {
        let location = try StoreLocation(text)
        #expect(try !location.exists(), "\(text)")
        var reading = options
        reading.createsIfMissing = false
        let error = await #expect(throws: StorageError.self) { _ = try await location.open(reading) }
        #expect(error?.code == .notFound, "\(text): \(error as Any)")
        #expect(try !location.exists(), "\(text)")
        let engine = try await location.open(options)
        try await engine.commit(WriteBatch([.put(KeyName("k"), Data("v".utf8))]), from: StoreOrigin())
        try await engine.close()
        #expect(try location.exists(), "\(text)")
        let again = try await location.open(reading)
        #expect(try await again.entry(KeyName("k"))?.value == Data("v".utf8))
        try await again.close()
      }
    }
  }

  @Test("A sealed file without a passphrase is unavailable, not new")
  func noPassphrase() async throws {
    let directory = try TemporaryDirectory()
    let location = StoreLocation.sealed(path: directory.path("s.sealed"))
    let error = await #expect(throws: StorageError.self) { _ = try await location.open() }
    #expect(error?.code == .unavailable && error?.message.contains("needs a passphrase") == true)
    #expect(try !location.exists())
  }

  @Test("Another module adds a kind of store")
  func schemes() async throws {
    let engine = MemoryEngine(name: "shared")
    let scheme = LocationScheme(
      "shared", form: "shared:NAME", meaning: "one for all",
      check: { if $0.isEmpty { throw StorageError(.invalidLocation, "It has no name: shared:NAME.") } },
      exists: { $0 == "there" }, open: { _, _ in engine })
    var options = StoreOptions()
    options.schemes = [scheme]
    let location = try StoreLocation("shared:there", schemes: options.schemes)
    #expect(location == .other(scheme: "shared", address: "there") && location.description == "shared:there")
    #expect(try location.exists(options))
    #expect(try await location.open(options).description == engine.description)
    #expect(throws: StorageError.self) { try StoreLocation("shared:", schemes: options.schemes) }
    #expect(throws: StorageError.self) { try StoreLocation("shared:there") }
    let unknown = #expect(throws: StorageError.self) { try StoreLocation("other:x", schemes: options.schemes) }
    #expect(unknown?.message.contains("shared:") == true)
  }
}
