// swift-tools-version: 6.3
import CompilerPluginSupport
import Foundation
import PackageDescription

// Every Swift target is compiled the same way; COFFER_STRICT (set by ./run) turns warnings into errors for us alone.
let strict = Context.environment["COFFER_STRICT"] != nil
let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ] + (strict ? [.treatAllWarnings(as: .error)] : [])
  // Set it for `swift test --sanitize=thread`: locks that the sanitizer can see.
  + (Context.environment["COFFER_TSAN"] != nil ? [.define("COFFER_TSAN")] : [])

func floor(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tool(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], mode: SwiftLanguageMode = .v6, exclude: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["CofferTestTraits"], exclude: exclude,
    swiftSettings: settings.dropFirst() + [.swiftLanguageMode(mode)])
}

func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies + ["CFuzzer"], path: "Fuzz/\(name)", swiftSettings: settings,
    linkerSettings: [.unsafeFlags(["-use-ld=lld", "-Xlinker", "--allow-multiple-definition"])])
}

// Fuzzers need a sanitizer's flags, so they exist only if ./run fuzz requests them.
let fuzzers: [Target] =
  Context.environment["COFFER_FUZZ"] == nil
  ? []
  : [
    .target(name: "CFuzzer", path: "Fuzz/CFuzzer"),
    fuzzer("FuzzSelection", ["CofferCore", "CofferEncoding"]),
    fuzzer("FuzzFileName", ["CofferCore", "CofferFiles"]),
    fuzzer("FuzzRecord", ["CofferSlots"]),
    fuzzer("FuzzPreferences", ["CofferCore", "CofferPreferences", "CofferSlots"]),
    fuzzer("FuzzEnvelope", ["CofferCore", "CofferCrypto"]),
    fuzzer("FuzzKeyRing", ["CofferCore", "CofferCrypto", "CofferEncryption"]),
    fuzzer("FuzzForeign", ["Coffer", "CofferCore", "CofferPreferences"]),
    fuzzer("FuzzMigration", ["Coffer", "CofferCore"]),
    fuzzer("FuzzAnchor", ["CofferCore", "CofferCrypto", "CofferEncryption"]),
    fuzzer("FuzzSealed", ["CofferCore", "CofferCrypto", "CofferKeychain", "CofferSlots"]),
  ]

// The modules of swift-syntax that the toolchain itself uses, for the trait Macros; no flag depends on them without it.
// The toolchain that evaluates this manifest has loaded a library of its folder lib/swift/pm.
let syntaxModules: String? = {
  // A read of the whole file at once would end after 4,096 bytes.
  let maps = (try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()) ?? Data()
  let own = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
    line.range(of: "/pm/ManifestAPI/").map { line[..<$0.lowerBound].drop { $0 != "/" } + "/host" }
  }
  return ([Context.environment["COFFER_SWIFT_HOST"]].compactMap { $0 } + own.map(String.init)).first {
    FileManager.default.fileExists(atPath: $0 + "/SwiftSyntax.swiftmodule")
  }
}()
let syntaxSettings = syntaxModules.map { [SwiftSetting.unsafeFlags(["-I", $0], .when(traits: ["Macros"]))] } ?? []
let syntaxLinking =
  syntaxModules.map {
    [LinkerSetting.unsafeFlags(["-L", $0, "-Xlinker", "-rpath", "-Xlinker", $0], .when(traits: ["Macros"]))]
  } ?? []

func benchmark(_ name: String, _ dependencies: [Target.Dependency], _ libraries: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Benchmarks/Sources/\(name)", swiftSettings: settings,
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

// The benchmarks are a package of their own, which sees no symbols of access level package: ./run bench requests them.
let benchmarked: [Target] =
  Context.environment["COFFER_BENCH"] == nil
  ? []
  : [
    benchmark("CofferCryptoBench", ["CofferCOpenSSL", "CofferCore", "CofferCrypto"]),
    benchmark("CofferPostgreSQLBench", ["CofferCPostgreSQL", "CofferTestSupport"], ["pq"]),
  ]

// The tests of the macro exist only if COFFER_TESTS names them: a test that links a macro makes SwiftPM build all tests
// as tools of the host, where they cannot import the modules of executables.
let macroTests: [Target] =
  Context.environment["COFFER_TESTS"]?.contains("CofferClientMacrosTests") == true
  ? [
    .testTarget(
      name: "CofferClientMacrosTests", dependencies: ["CofferClientMacros"], swiftSettings: settings + syntaxSettings,
      linkerSettings: syntaxLinking)
  ] : []

let package = Package(
  name: "coffer",
  platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
  products: [
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferCore", targets: ["CofferCore"]),
    .library(name: "CofferBus", targets: ["CofferBus"]),
    .library(name: "CofferDatabase", targets: ["CofferDatabase"]),
    .library(name: "CofferHTTP", targets: ["CofferHTTP"]),
    .library(name: "CofferLocks", targets: ["CofferLocks"]),
    .library(name: "CofferPostgreSQL", targets: ["CofferPostgreSQL"]),
    .library(name: "CofferProcessTesting", targets: ["CofferProcessTesting"]),
    .library(name: "CofferTerminal", targets: ["CofferTerminal"]),
    .library(name: "CofferTesting", targets: ["CofferTesting"]),
    .executable(name: "coffer", targets: ["CofferCommand"]),
    .executable(name: "coffer-demo", targets: ["CofferDemo"]),
  ] + (fuzzers.isEmpty ? [] : [.library(name: "CFuzzer", targets: ["CFuzzer"])])
    + benchmarked.map { .library(name: $0.name, targets: [$0.name]) },
  traits: [
    .default(enabledTraits: ["SecretService"]),
    // Nothing has to be installed for it, but without it a server has no code that looks for a bus; and SwiftPM refuses
    // `traits: []` for a package that declares none.
    .trait(name: "SecretService", description: "Keep secrets in the desktop's keyring on Linux."),
    .trait(name: "Macros", description: "Add the macro @Client, built with the toolchain's own swift-syntax."),
  ],
  targets: [
    // Floor 0: system libraries. Their headers lie where compilers look for them: pkg-config has nothing to add, and
    // SwiftPM would ask it for each of them in every package that depends on this one. Names of targets are unique in
    // a whole package graph, and `CSQLite` is taken by a widely used package.
    .systemLibrary(name: "CofferCSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CofferCZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CofferCOpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CofferCMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CofferCPostgreSQL", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CofferCGio"),
    .systemLibrary(name: "CofferCShims"),
    floor("CofferLocks", []),
    // A plug-in of the compiler, empty without the trait Macros.
    .macro(
      name: "CofferClientMacros", swiftSettings: settings + syntaxSettings, linkerSettings: syntaxLinking),
    // Floor 1: contracts
    floor("CofferCore", ["CofferLocks"]),
    // Floor 2: base
    floor("CofferCrypto", ["CofferLocks", "CofferCore", "CofferCOpenSSL"]),
    floor("CofferFileSystem", ["CofferLocks", "CofferCore", "CofferCShims"]),
    floor("CofferEncoding", ["CofferCore", "CofferCZlib"]),
    floor("CofferTerminal", ["CofferCore", "CofferLocks"]),
    floor("CofferBus", ["CofferLocks", "CofferCGio"]),
    floor("CofferHTTP", ["CofferLocks", .target(name: "CofferCMicrohttpd", condition: .when(platforms: [.linux]))]),
    floor("CofferProcessTesting", ["CofferLocks"]),
    // Floor 3: engines, and what stands on one room of the base
    floor(
      "CofferPresence",
      [
        "CofferLocks", "CofferCore",
        .target(name: "CofferBus", condition: .when(platforms: [.linux], traits: ["SecretService"])),
      ]),
    floor("CofferPrompt", ["CofferCore", "CofferCrypto", "CofferCShims"]),
    floor("CofferEncryption", ["CofferLocks", "CofferCore", "CofferCrypto", "CofferCShims", "CofferFileSystem"]),
    floor(
      "CofferSQLite",
      ["CofferLocks", "CofferCore", "CofferCSQLite", "CofferCShims", "CofferEncoding", "CofferFileSystem"]),
    floor(
      "CofferPostgreSQL",
      [
        "CofferLocks", "CofferCore", "CofferCrypto", "CofferEncoding",
        .target(name: "CofferCPostgreSQL", condition: .when(platforms: [.linux])),
      ]),
    // Floor 4: on the embedded engine
    floor(
      "CofferSlots",
      ["CofferLocks", "CofferCore", "CofferEncoding", "CofferFileSystem", "CofferPresence", "CofferSQLite"]),
    floor("CofferDatabase", ["CofferCore", "CofferSQLite"]),
    // Floor 5: stores
    floor("CofferFiles", ["CofferLocks", "CofferCore", "CofferCrypto", "CofferFileSystem", "CofferSlots"]),
    floor("CofferPreferences", ["CofferCore", "CofferFileSystem", "CofferSlots"]),
    floor(
      "CofferKeychain",
      [
        "CofferLocks", "CofferCore", "CofferCrypto", "CofferEncryption", "CofferFileSystem", "CofferPresence",
        "CofferSQLite",
        "CofferSlots",
        .target(name: "CofferBus", condition: .when(platforms: [.linux], traits: ["SecretService"])),
        .target(name: "CofferCGio", condition: .when(platforms: [.linux], traits: ["SecretService"])),
      ]),
    // Floor 6: front
    floor(
      "Coffer",
      [
        "CofferCSQLite", "CofferLocks", "CofferCore", "CofferCrypto", "CofferEncryption", "CofferFileSystem",
        "CofferFiles", "CofferKeychain", "CofferPreferences", "CofferPresence", "CofferPrompt", "CofferSQLite",
        "CofferSlots",
        .target(name: "CofferClientMacros", condition: .when(traits: ["Macros"])),
      ]),
    // Floor 7: services
    floor("CofferTesting", ["CofferLocks", "CofferCore", "Coffer"]),
    // Floor 8: applications
    tool(
      "CofferCommand",
      [
        "CofferLocks", "Coffer", "CofferCrypto", "CofferEncryption", "CofferFileSystem", "CofferFiles",
        "CofferKeychain", "CofferPostgreSQL", "CofferPreferences", "CofferSQLite", "CofferSlots", "CofferTerminal",
      ]),
    tool("CofferDemo", ["CofferLocks", "Coffer"]),
    // Tests
    .target(
      name: "CofferTestSupport",
      dependencies: ["CofferCore", "CofferLocks", "CofferProcessTesting", "CofferSQLite", "CofferSlots"],
      path: "Tests/CofferTestSupport", exclude: ["fault.c", "PowerLoss/record.c"], swiftSettings: settings),
    .target(
      name: "CofferTestTraits", dependencies: ["CofferCore"], path: "Tests/CofferTestTraits", swiftSettings: settings),
    .target(name: "Neighbour", path: "Tests/Neighbour", swiftSettings: settings),
    tool("LegacyProgram", [], path: "Tests/LegacyProgram"),
    tool(
      "CofferTestHelper",
      [
        "Coffer", "CofferLocks", "CofferCSQLite", "CofferCore", "CofferCrypto", "CofferDatabase", "CofferEncryption",
        "CofferFileSystem", "CofferFiles", "CofferKeychain", "CofferPreferences", "CofferPrompt", "CofferSQLite",
        "CofferPostgreSQL", "CofferSlots", "CofferTesting", "CofferTestSupport",
      ],
      path: "Tests/CofferTestHelper"),
    tests(
      "CofferSQLiteTests",
      [
        "CofferLocks", "CofferCore", "CofferDatabase", "CofferEncoding", "CofferSQLite", "CofferCSQLite",
        "CofferTesting", "CofferTestHelper", "CofferTestSupport",
      ],
      exclude: ["Golden"]),
    tests(
      "CofferPostgreSQLTests",
      [
        "CofferLocks", "Coffer", "CofferCommand", "CofferCore", "CofferCrypto", "CofferPostgreSQL",
        "CofferProcessTesting", "CofferTesting", "CofferTestSupport",
      ]),
    tests("CofferDatabaseTests", ["CofferLocks", "Coffer", "CofferDatabase", "CofferTestSupport"]),
    tests(
      "CofferSlotsTests",
      [
        "CofferLocks", "CofferCSQLite", "CofferCore", "CofferSQLite", "CofferSlots", "CofferTesting",
        "CofferTestSupport",
      ]),
    tests(
      "CofferCryptoTests", ["CofferLocks", "CofferCore", "CofferCrypto", "CofferTestHelper", "CofferTestSupport"],
      exclude: ["Golden", "Vectors"]),
    tests(
      "CofferPresenceTests",
      [
        "CofferLocks", "Coffer", "CofferBus", "CofferCore", "CofferFileSystem", "CofferKeychain", "CofferPresence",
        "CofferSlots", "CofferTesting", "CofferTestSupport",
      ]),
    tests(
      "CofferPromptTests",
      ["CofferLocks", "CofferCore", "CofferCrypto", "CofferPrompt", "CofferTestHelper", "CofferTestSupport"]),
    tests(
      "CofferEncryptionTests",
      [
        "CofferLocks", "Coffer", "CofferCSQLite", "CofferCore", "CofferCrypto", "CofferEncryption", "CofferFileSystem",
        "CofferFiles", "CofferPreferences", "CofferSQLite", "CofferSlots", "CofferTesting", "CofferTestHelper",
        "CofferTestSupport",
      ], exclude: ["Golden"]),
    tests(
      "CofferFilesTests",
      [
        "CofferLocks", "CofferCSQLite", "CofferCore", "CofferDatabase", "CofferFileSystem", "CofferFiles",
        "CofferSQLite", "CofferSlots", "CofferTesting", "CofferTestHelper", "CofferTestSupport", "LegacyProgram",
      ],
      exclude: ["Golden"]),
    tests(
      "CofferPreferencesTests",
      [
        "CofferLocks", "Coffer", "CofferCore", "CofferFileSystem", "CofferPreferences", "CofferSQLite", "CofferSlots",
        "CofferTesting", "CofferTestHelper", "CofferTestSupport", "LegacyProgram",
      ],
      exclude: ["Golden"]),
    tests(
      "CofferKeychainTests",
      [
        "CofferLocks", "CofferCore", "CofferCrypto", "CofferDatabase", "CofferEncryption", "CofferFileSystem",
        "CofferKeychain", "CofferSQLite", "CofferSlots", "CofferTesting", "CofferTestHelper", "CofferTestSupport",
        "LegacyProgram",
        .target(name: "CofferBus", condition: .when(platforms: [.linux], traits: ["SecretService"])),
      ],
      exclude: ["Golden"]),
    tests(
      "CofferTests",
      [
        "CofferCSQLite", "CofferLocks", "Coffer", "CofferCommand", "CofferFileSystem", "CofferFiles", "CofferTesting",
        "CofferTestHelper", "CofferTestSupport", "LegacyProgram", "Neighbour",
      ],
      exclude: ["Golden"]),
    tests(
      "CofferRouterTests",
      [
        "CofferLocks", "Coffer", "CofferFileSystem", "CofferTesting", "CofferTestHelper", "CofferTestSupport",
      ]),
    tests("CofferTestingTests", ["CofferLocks", "CofferCore", "CofferProcessTesting", "CofferTesting"]),
    tests("CofferDemoTests", ["CofferDemo", "CofferProcessTesting"]),
    // The examples of the vault specification, compiled as its users do: Swift 5 mode and no upcoming features.
    .testTarget(
      name: "VaultDocumentTests", dependencies: ["Coffer", "CofferFileSystem"], swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    // Those of the callback specification, in the same way.
    .testTarget(
      name: "CallbackDocumentTests", dependencies: ["Coffer", "Neighbour"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    tests(
      "CofferCommandTests",
      [
        "CofferCommand", "Coffer", "CofferCSQLite", "CofferFileSystem", "CofferSQLite", "CofferTerminal",
        "CofferTestSupport", "CofferTesting",
      ]),
    tests(
      "CofferBusTests", ["CofferBus", "CofferLocks", "CofferProcessTesting", "CofferTestSupport"],
      exclude: ["headers.c"]),
    tests("CofferHTTPTests", ["CofferHTTP", "CofferLocks", "CofferProcessTesting"]),
    tests("CofferTerminalTests", ["CofferProcessTesting", "CofferTerminal"]),
    // The house itself
    tests("TidyTests", []),
    tests("ReadmeTests", ["CofferLocks", "Coffer", "CofferCore", "CofferFileSystem", "CofferTesting"]),
  ] + macroTests + fuzzers + benchmarked
)

// Only some test targets and what they need, while you work on those: COFFER_TESTS=CofferSQLiteTests swift test.
if let wanted = Context.environment["COFFER_TESTS"]?.split(separator: ",").map(String.init) {
  var kept = Set(wanted)
  var rest = wanted
  while let name = rest.popLast() {
    for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
      switch dependency {
      case .byNameItem(let needed, _), .targetItem(let needed, _):
        if kept.insert(needed).inserted { rest.append(needed) }
      default: continue
      }
    }
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products = []
}
