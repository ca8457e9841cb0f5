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

let library: [Target.Dependency] = [
  "CofferCore", "CofferFileSystem", "CofferEncryption", "CofferSQLite", "CofferFiles", "CofferSecrets",
  "Coffer", "CofferRouter", "CofferPersistence", "CofferCallbacks", "CofferVault", "CofferTesting",
]

func storeTests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
  let support: [Target.Dependency] = ["CofferCSQLite", "CofferTestSupport", "CofferTestHelper", "LegacyProgram"]
  return tests(name, library + support + dependencies, exclude: exclude)
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
    fuzzer("FuzzSelection", ["CofferCore"]),
    fuzzer("FuzzFileName", ["CofferCore", "CofferFiles"]),
    fuzzer("FuzzRecord", ["CofferFiles"]),
    fuzzer("FuzzPreferences", ["CofferCore", "CofferFiles"]),
    fuzzer("FuzzEnvelope", ["CofferCore", "CofferEncryption"]),
    fuzzer("FuzzKeyRing", ["CofferCore", "CofferEncryption"]),
    fuzzer("FuzzForeign", ["Coffer", "CofferRouter", "CofferCore", "CofferFiles"]),
    fuzzer("FuzzMigration", ["Coffer", "CofferRouter", "CofferCore"]),
    fuzzer("FuzzAnchor", ["CofferCore", "CofferEncryption"]),
    fuzzer("FuzzSealed", ["CofferCore", "CofferEncryption", "CofferSecrets", "CofferFiles"]),
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
    benchmark("CofferCryptoBench", ["CofferCOpenSSL", "CofferCore", "CofferEncryption"]),
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
    .library(name: "CofferAll", targets: ["CofferAll"]),
    .library(name: "CofferCallbacks", targets: ["CofferCallbacks"]),
    .library(name: "CofferEncryption", targets: ["CofferEncryption"]),
    .library(name: "CofferPersistence", targets: ["CofferPersistence"]),
    .library(name: "CofferRouter", targets: ["CofferRouter"]),
    .library(name: "CofferSecrets", targets: ["CofferSecrets"]),
    .library(name: "CofferVault", targets: ["CofferVault"]),
    .library(name: "CofferCore", targets: ["CofferCore"]),
    .library(name: "CofferBus", targets: ["CofferBus"]),
    .library(name: "CofferHTTP", targets: ["CofferHTTP"]),
    .library(name: "CofferPostgreSQL", targets: ["CofferPostgreSQL"]),
    .library(name: "CofferSQLite", targets: ["CofferSQLite"]),
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
    // A plug-in of the compiler, empty without the trait Macros.
    .macro(
      name: "CofferClientMacros", swiftSettings: settings + syntaxSettings, linkerSettings: syntaxLinking),
    // Floor 1: contract
    floor("CofferCore", ["CofferCZlib"]),
    // Floor 2: base
    floor("CofferFileSystem", ["CofferCore", "CofferCShims"]),
    floor("CofferTerminal", ["CofferCore"]),
    floor("CofferBus", ["CofferCore", "CofferCGio"]),
    floor("CofferHTTP", ["CofferCore", .target(name: "CofferCMicrohttpd", condition: .when(platforms: [.linux]))]),
    // Floor 3: encryption, and the embedded engine
    floor("CofferEncryption", ["CofferCore", "CofferCOpenSSL", "CofferCShims", "CofferFileSystem"]),
    floor("CofferSQLite", ["CofferCore", "CofferCSQLite", "CofferCShims", "CofferFileSystem"]),
    // Floor 4: stores
    floor(
      "CofferPostgreSQL",
      [
        "CofferCore", "CofferEncryption",
        .target(name: "CofferCPostgreSQL", condition: .when(platforms: [.linux])),
      ]),
    floor("CofferFiles", ["CofferCore", "CofferEncryption", "CofferFileSystem", "CofferSQLite"]),
    // Floor 5: stores on the engine of the floor below
    floor(
      "CofferSecrets",
      [
        "CofferCore", "CofferEncryption", "CofferFileSystem", "CofferFiles", "CofferSQLite",
        .target(name: "CofferBus", condition: .when(platforms: [.linux], traits: ["SecretService"])),
        .target(name: "CofferCGio", condition: .when(platforms: [.linux], traits: ["SecretService"])),
      ]),
    // Floor 6: front
    floor(
      "Coffer",
      [
        "CofferCSQLite", "CofferCore", "CofferEncryption", "CofferFileSystem", "CofferFiles",
        "CofferSecrets", "CofferSQLite",
      ]),
    // Floor 7: APIs over the front
    floor(
      "CofferRouter",
      [
        "Coffer", "CofferCore", "CofferEncryption", "CofferFileSystem", "CofferFiles", "CofferSecrets",
        "CofferSQLite",
      ]),
    floor(
      "CofferPersistence",
      [
        "Coffer", "CofferCore", "CofferFiles", "CofferSQLite",
        .target(name: "CofferClientMacros", condition: .when(traits: ["Macros"])),
      ]),
    floor("CofferCallbacks", ["Coffer", "CofferCore", "CofferEncryption"]),
    // Floor 8: the API that uses the router
    floor(
      "CofferVault",
      [
        "Coffer", "CofferCore", "CofferEncryption", "CofferFileSystem", "CofferFiles", "CofferRouter", "CofferSQLite",
        "CofferSecrets",
      ]),
    // Floor 9: all of them; and what tests need
    floor("CofferAll", ["CofferCallbacks", "CofferPersistence", "CofferRouter", "CofferVault"]),
    floor("CofferTesting", ["CofferCore", "Coffer", "CofferPersistence", "CofferRouter"]),
    // Floor 10: applications
    tool(
      "CofferCommand",
      [
        "CofferCore", "Coffer", "CofferEncryption", "CofferFileSystem", "CofferFiles", "CofferRouter", "CofferSecrets",
        "CofferPostgreSQL", "CofferSQLite", "CofferTerminal",
      ]),
    tool(
      "CofferDemo",
      [
        "Coffer", "CofferCallbacks", "CofferCore", "CofferEncryption", "CofferFiles", "CofferPersistence",
        "CofferSecrets",
        "CofferVault",
      ]),
    // Tests
    .target(
      name: "CofferTestSupport",
      dependencies: ["CofferCore", "CofferTesting", "CofferSQLite", "CofferFiles"],
      path: "Tests/CofferTestSupport", exclude: ["fault.c", "PowerLoss/record.c"], swiftSettings: settings),
    .target(
      name: "CofferTestTraits", dependencies: ["CofferCore"], path: "Tests/CofferTestTraits", swiftSettings: settings),
    .target(name: "Neighbour", path: "Tests/Neighbour", swiftSettings: settings),
    tool("LegacyProgram", [], path: "Tests/LegacyProgram"),
    tool(
      "CofferTestHelper", library + ["CofferCSQLite", "CofferPostgreSQL", "CofferTestSupport"],
      path: "Tests/CofferTestHelper"),
    storeTests("CofferSQLiteTests", exclude: ["Golden"]),
    storeTests("CofferPostgreSQLTests", ["CofferCommand", "CofferPostgreSQL"]),
    storeTests("CofferEncryptionTests", exclude: ["Golden", "Crypto/Golden", "Crypto/Vectors"]),
    storeTests("CofferFilesTests", exclude: ["Golden", "Preferences/Golden"]),
    storeTests("CofferSecretsTests", ["CofferBus"], exclude: ["Golden"]),
    storeTests("CofferTests", ["CofferCommand", "Neighbour"], exclude: ["Golden"]),
    storeTests("CofferRouterTests"),
    storeTests("CofferCommandTests", ["CofferCommand", "CofferTerminal"]),
    storeTests("ReadmeTests"),
    tests("CofferTestingTests", ["CofferCore", "CofferTesting"]),
    tests("CofferDemoTests", ["CofferDemo", "CofferTesting"]),
    // The examples of the vault specification, compiled as its users do: Swift 5 mode and no upcoming features.
    .testTarget(
      name: "VaultDocumentTests",
      dependencies: ["CofferVault", "CofferPersistence", "CofferFileSystem", "CofferTesting"],
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    // Those of the callback specification, in the same way.
    .testTarget(
      name: "CallbackDocumentTests", dependencies: ["CofferCallbacks", "Neighbour"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    tests(
      "CofferBusTests", ["CofferBus", "CofferCore", "CofferTesting", "CofferTestSupport"],
      exclude: ["headers.c"]),
    tests("CofferHTTPTests", ["CofferHTTP", "CofferCore", "CofferTesting"]),
    tests("CofferTerminalTests", ["CofferCore", "CofferTesting", "CofferTerminal"]),
    // The house itself
    tests("TidyTests", []),
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
