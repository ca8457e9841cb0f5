import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Names that would lead outside the directory, and environments that specify no directory of preferences.
@Suite(.blocking, .serialized) struct PreferenceNameTests {
  static let wrong = [
    "", ".", "..", ".hidden", "a/b", "/etc/passwd", "../x", "a/../../x", "a\0b", "\0", "a\nb", "a b", "ä",
    String(repeating: "a", count: 129), String(repeating: "a", count: 300), "NSGlobalDomain", "NSArgumentDomain",
    "NSRegistrationDomain", "com.example.shop\u{301}", "a\\b", "~", "*",
  ]

  /// The sorted paths of everything in a directory, recursively.
  private func everything(_ directory: TemporaryDirectory) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory.url.path).sorted()
  }

  @Test(arguments: wrong) func aNameThatCannotBeOneTouchesNothing(name: String) async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.path("config"), withIntermediateDirectories: false)
    try Data("kept".utf8).write(to: directory.url.appendingPathComponent("x.plist"))
    let before = try everything(directory)
    let system = PreferenceFixture.system(directory.path("config"), fixture: directory.path("home"))
    try await SystemDirectories.$current.withValue(system) {
      let error = await expectPreferenceError(.unsupported) { _ = try await SlotEngine.preferences(suite: name) }
      // The error text contains no control characters and is of limited length.
      let text = try #require(error).description
      #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{7F}" } && text.count < 600, "\(text)")
      let adapter = UserDefaultsAdapter(suiteName: name)
      await expectPreferenceError(.unsupported) { try await adapter.set("x", for: "theme") }
      await expectPreferenceError(.unsupported) { _ = try await adapter.get("theme") }
      await expectPreferenceError(.unsupported) { _ = try await adapter.keys() }
      var states = adapter.engine.availability().makeAsyncIterator()
      if case .unavailable(let reason)? = await states.next() {
        #expect(reason.contains("cannot be the name of a suite"))
      } else {
        Issue.record("available")
      }
      try await adapter.engine.close()
    }
    #expect(try everything(directory) == before)
    #expect(try Data(contentsOf: directory.url.appendingPathComponent("x.plist")) == Data("kept".utf8))
  }

  @Test(arguments: ["a", "A-1_b..c", "-", "_", "NSGlobalDomain2"])
  func oddNamesThatAreFine(name: String) async throws {
    let fixture = try PreferenceFixture(suite: name)
    let adapter = try await fixture.adapter()
    try await adapter.set("ours", for: "string")
    #expect(try fixture.run("defaults-read").lines().first == "string ours")
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path)
    #expect(Set(names) == [".coffer-preferences", "\(name).plist"])
    try await adapter.engine.close()
  }

  @Test func theLongestNameIsFine() async throws {
    let fixture = try PreferenceFixture(suite: String(repeating: "n", count: 128))
    let engine = try await fixture.open()
    try await engine.put("k", "v")
    #expect(try fixture.texts() == ["k": "v"])
    try await engine.close()
  }

  // MARK: The directory of preferences

  private func run(_ arguments: [String], _ environment: [(String, String)]) throws -> [String] {
    try HelperProcess(arguments, environment: environment, without: ["HOME", "XDG_CONFIG_HOME"]).lines()
  }

  @Test func withoutHOMEThereIsNoDirectory() throws {
    for environment in [
      [], [("HOME", ""), ("XDG_CONFIG_HOME", "")], [("HOME", "here"), ("XDG_CONFIG_HOME", "there")],
    ] {
      let lines = try run(["prefs-open", "com.example.shop", "0"], environment)
      #expect(lines.count == 1 && lines[0].hasPrefix("error unavailable"), "\(lines)")
      #expect(lines.first?.contains("Set HOME") == true, "\(lines)")
    }
    for name in ["here", "there"] { #expect(!FileManager.default.fileExists(atPath: name)) }
  }

  /// The same directory as Foundation uses, so that each reads what the other writes.
  @Test(arguments: [nil, ""]) func withoutXDGConfigHOMEItIsBelowHOME(config: String?) throws {
    let directory = try TemporaryDirectory()
    let environment = [("HOME", directory.url.path)] + (config.map { [("XDG_CONFIG_HOME", $0)] } ?? [])
    #expect(try run(["prefs-write", "com.example.shop", "full", "w", "1"], environment) == ["begin 0", "ack 0"])
    let file = directory.path(".config/com.example.shop.plist")
    #expect(FileManager.default.fileExists(atPath: file))
    #expect(try run(["defaults-set", "com.example.shop", "theirs", "x"], environment) == ["done"])
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    #expect(try PropertyListFormat().decode(data).values.count == 3)
  }
}
