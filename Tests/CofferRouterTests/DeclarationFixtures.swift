import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Declarations that must not compile, and the corrected ones, which must.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Fixture.compiler != nil, "there is no swiftc in PATH"))
struct DeclarationFixtures {
  @Test(
    "Invalid declarations do not compile",
    arguments: [
      Fixture(
        "a secret in the preferences", good: "TypedKey<String>(secret: \"a\", in: .keychain(), \(words))",
        bad: "TypedKey<String>(secret: \"a\", in: .userDefaults(), \(words))", says: "userDefaults"),
      Fixture(
        "a secret in an unprotected file",
        good: "TypedKey<String>(secret: \"a\", in: .encryptedFileSystem(.documents), \(words))",
        bad: "TypedKey<String>(secret: \"a\", in: .fileSystem(.documents), \(words))", says: "fileSystem"),
      Fixture(
        "a secret with a default", good: "TypedKey<String>(secret: \"a\", in: .keychain(), \(words))",
        bad: "TypedKey<String>(secret: \"a\", in: .keychain(), \(words), default: \"x\")", says: "argument"),
      Fixture(
        "a secret that is synced", good: "TypedKey<String>(secret: \"a\", in: .keychain(), \(words))",
        bad: "TypedKey<String>(secret: \"a\", in: .keychain(), \(words), sync: .manual)", says: "argument"),
      Fixture(
        "a default of another type", good: "SettingKey<Int>(\"a\", in: .memory(), \(words), default: 1)",
        bad: "SettingKey<Int>(\"a\", in: .memory(), \(words), default: \"1\")", says: "Int"),
      Fixture(
        "raw bytes of a number", good: "TypedKey<Data>(\"a\", in: .memory(), \(words), as: .data)",
        bad: "TypedKey<Int>(\"a\", in: .memory(), \(words), as: .data)", says: "Data"),
      Fixture(
        "no place", good: "TypedKey<Int>(\"a\", in: .memory())",
        bad: "TypedKey<Int>(\"a\", \(words))", says: "parameter 'in'"),
      Fixture(
        "a value of another type",
        good: "{ try await $0.set(1, for: TypedKey<Int>(\"a\", in: .memory(), \(words))) } as \(use)",
        bad: "{ try await $0.set(\"1\", for: TypedKey<Int>(\"a\", in: .memory(), \(words))) } as \(use)",
        says: "Int"),
    ])
  // Requirements 1.55, 1.62, 4.4
  func refused(_ fixture: Fixture) throws {
    let good = try fixture.compile(fixture.good)
    try #require(good.status == 0, "\(good.errors)")
    let bad = try fixture.compile(fixture.bad)
    #expect(bad.status != 0)
    #expect(bad.errors.contains("error:") && bad.errors.contains(fixture.says), "\(bad.errors)")
  }
}

private let use = "(StorageRouter) async throws -> Void"
private let words = "owner: \"Tests\", about: \"For a test.\""

struct Fixture: CustomTestStringConvertible, Sendable {
  let testDescription, good, bad, says: String

  init(_ name: String, good: String, bad: String, says: String) {
    testDescription = name
    (self.good, self.bad, self.says) = (good, bad, says)
  }

  static var compiler: String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").map { $0 + "/swiftc" }.first { access($0, X_OK) == 0 }
  }

  /// Type-checks a declaration against the modules that this test was built with.
  func compile(_ declaration: String) throws -> (status: Int32, errors: String) {
    let folder = try TemporaryDirectory()
    let source = folder.path("fixture.swift")
    try Data("import CofferRouter\nimport Foundation\nlet fixture = \(declaration)\n".utf8)
      .write(to: URL(fileURLWithPath: source))
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
    let binaries =
      bundle.bundlePath.hasSuffix(".xctest") ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Sources")
    var arguments = [
      "-typecheck", "-swift-version", "6", "-I", binaries.appendingPathComponent("Modules").path,
      "-module-cache-path", folder.path("cache"),
    ]
    for name in try FileManager.default.contentsOfDirectory(atPath: sources.path) where name.hasPrefix("CofferC") {
      let map = sources.appendingPathComponent(name).appendingPathComponent("module.modulemap").path
      if access(map, F_OK) == 0 { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    }
    let libraries = ["libsecret-1", "sqlite3", "libcrypto", "zlib"]
    arguments += try run("/usr/bin/env", ["pkg-config", "--cflags"] + libraries).output
      .split(whereSeparator: \.isWhitespace).flatMap { ["-Xcc", String($0)] }
    let ended = try run(Self.compiler ?? "", arguments + [source])
    return (ended.status, ended.errors)
  }

  private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
    let folder = try TemporaryDirectory()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let (output, errors) = (folder.path("output"), folder.path("errors"))
    for path in [output, errors] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.runUnblocked()
    process.waitUntilExit()
    return (
      process.terminationStatus, try String(contentsOfFile: output, encoding: .utf8),
      try String(contentsOfFile: errors, encoding: .utf8)
    )
  }
}
