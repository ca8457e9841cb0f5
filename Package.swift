// swift-tools-version: 6.3
import PackageDescription

// ./run sets COFFER_STRICT, which makes warnings errors, and COFFER_TSAN for locks that the sanitizer can see.
let features = [
  "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
]
let settings: [SwiftSetting] =
  features.map { .enableUpcomingFeature($0) } + [.swiftLanguageMode(.v6)]
  + (Context.environment["COFFER_STRICT"] != nil ? [.treatAllWarnings(as: .error)] : [])
  + (Context.environment["COFFER_TSAN"] != nil ? [.define("COFFER_TSAN")] : [])

func floor(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tool(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["CofferTestTraits"], exclude: exclude, swiftSettings: settings)
}

// The examples of a specification, compiled as its users do: Swift 5 mode and no upcoming features.
func documentTests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: [.swiftLanguageMode(.v5)])
}

let stores: [Target.Dependency] = [
  "CofferCore", "CofferEncryption", "CofferFileSystem", "CofferFiles", "CofferSQLite", "CofferSecrets",
]
let library: [Target.Dependency] =
  stores + ["Coffer", "CofferRouter", "CofferPersistence", "CofferCallbacks", "CofferVault", "CofferTesting"]

func storeTests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
  let support: [Target.Dependency] = ["CofferCSQLite", "CofferTestSupport", "CofferTestHelper", "LegacyProgram"]
  return tests(name, library + support + dependencies, exclude: exclude)
}

func requested(by variable: String, _ some: [Target]) -> [Target] { Context.environment[variable] == nil ? [] : some }

// Fuzzers need a sanitizer's flags, so they exist only if ./run fuzz requests them.
let fuzzers = requested(
  by: "COFFER_FUZZ",
  "Anchor Envelope FileName Foreign KeyRing Migration Preferences Record Sealed Selection".split(separator: " ").map {
    .executableTarget(
      name: "Fuzz\($0)", dependencies: library + ["CFuzzer"], path: "Fuzz/Fuzz\($0)", swiftSettings: settings,
      linkerSettings: [.unsafeFlags(["-use-ld=lld", "-Xlinker", "--allow-multiple-definition"])])
  } + [.target(name: "CFuzzer", path: "Fuzz/CFuzzer")])

// The benchmarks are a package of their own, which sees no symbols of access level package: ./run bench requests them.
let benchmarks = requested(
  by: "COFFER_BENCH",
  [
    ("CofferCryptoBench", ["CofferCOpenSSL", "CofferCore", "CofferEncryption"]),
    ("CofferPostgreSQLBench", ["CofferCPostgreSQL", "CofferTestSupport"]),
  ].map { floor($0, $1, path: "Benchmarks/Sources/\($0)") })

let products = [
  "Coffer", "CofferAll", "CofferBus", "CofferCallbacks", "CofferCore", "CofferEncryption", "CofferPersistence",
  "CofferPostgreSQL", "CofferRouter", "CofferSQLite", "CofferSecrets", "CofferTerminal", "CofferTesting", "CofferVault",
]

let package = Package(
  name: "coffer",
  platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
  products: (products + (benchmarks + fuzzers.suffix(1)).map(\.name)).map { .library(name: $0, targets: [$0]) }
    + [("coffer", "CofferCommand"), ("coffer-demo", "CofferDemo")].map { .executable(name: $0, targets: [$1]) },
  traits: [
    .default(enabledTraits: ["SecretService"]),
    // Needs nothing to be installed; without it a server has no code that looks for a bus.
    .trait(name: "SecretService", description: "Keep secrets in the desktop's keyring on Linux."),
  ],
  targets: [
    // Floor 0: system libraries. Compilers find their headers: SwiftPM would ask pkg-config for each of them in every
    // package that depends on this one. A widely used package has taken the name `CSQLite`.
    .systemLibrary(name: "CofferCSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CofferCZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CofferCOpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CofferCPostgreSQL", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CofferCGio"), .systemLibrary(name: "CofferCShims"),
    // Floor 1: contract
    floor("CofferCore", ["CofferCZlib"]),
    // Floor 2: base
    floor("CofferFileSystem", ["CofferCore", "CofferCShims"]),
    floor("CofferBus", ["CofferCore", "CofferCGio"]),
    floor("CofferTerminal", ["CofferCore"]),
    // Floor 3: encryption, and the embedded engine
    floor("CofferEncryption", ["CofferCore", "CofferCOpenSSL", "CofferFileSystem"]),
    floor("CofferSQLite", ["CofferCore", "CofferCSQLite", "CofferCShims", "CofferFileSystem"]),
    // Floor 4: stores
    floor(
      "CofferPostgreSQL",
      ["CofferCore", "CofferEncryption", .target(name: "CofferCPostgreSQL", condition: .when(platforms: [.linux]))]),
    floor("CofferFiles", ["CofferCore", "CofferEncryption", "CofferFileSystem", "CofferSQLite"]),
    // Floor 5: stores on the engine of the floor below
    floor(
      "CofferSecrets",
      stores.dropLast()
        + ["CofferBus", "CofferCGio"].map {
          .target(name: $0, condition: .when(platforms: [.linux], traits: ["SecretService"]))
        }),
    // Floor 6: front
    floor("Coffer", stores + ["CofferCSQLite"]),
    // Floor 7: APIs over the front
    floor("CofferRouter", stores + ["Coffer"]),
    floor("CofferPersistence", ["Coffer", "CofferCore", "CofferFiles", "CofferSQLite"]),
    floor("CofferCallbacks", ["Coffer", "CofferCore"]),
    // Floor 8: the API that uses the router
    floor("CofferVault", stores + ["Coffer", "CofferRouter"]),
    // Floor 9: all of them; and what tests need
    floor("CofferAll", ["CofferCallbacks", "CofferPersistence", "CofferRouter", "CofferVault"]),
    floor("CofferTesting", ["CofferCore", "Coffer", "CofferPersistence", "CofferRouter"]),
    // Floor 10: programs that use names of the package
    tool("CofferCommand", stores + ["Coffer", "CofferRouter", "CofferPostgreSQL", "CofferTerminal"]),
    tool("CofferDemo", stores + ["Coffer", "CofferCallbacks", "CofferPersistence", "CofferTerminal", "CofferVault"]),
    // Tests
    .target(
      name: "CofferTestSupport", dependencies: stores + ["Coffer", "CofferPostgreSQL", "CofferTesting"],
      path: "Tests/CofferTestSupport", exclude: ["fault.c", "PowerLoss/record.c"], swiftSettings: settings),
    floor("CofferTestTraits", ["CofferCore"], path: "Tests/CofferTestTraits"),
    floor("Neighbour", [], path: "Tests/Neighbour"), tool("LegacyProgram", [], path: "Tests/LegacyProgram"),
    tool(
      "CofferTestHelper", library + ["CofferCSQLite", "CofferPostgreSQL", "CofferTestSupport"],
      path: "Tests/CofferTestHelper"),
    storeTests("CofferSQLiteTests", exclude: ["Golden"]),
    storeTests("CofferPostgreSQLTests", ["CofferCommand", "CofferPostgreSQL"]),
    storeTests("CofferEncryptionTests", exclude: ["Golden", "Crypto/Golden", "Crypto/Vectors"]),
    storeTests("CofferFilesTests", exclude: ["Golden", "Preferences/Golden"]),
    storeTests("CofferSecretsTests", ["CofferBus"], exclude: ["Golden"]),
    storeTests("CofferTests", ["CofferCommand", "Neighbour"]),
    storeTests("CofferCommandTests", ["CofferCommand", "CofferTerminal"]),
    storeTests("CofferRouterTests"), storeTests("ReadmeTests"),
    tests("CofferTestingTests", ["CofferCore", "CofferTesting", "CofferTestHelper"]),
    tests("CofferDemoTests", ["CofferDemo", "CofferTesting"]),
    documentTests("VaultDocumentTests", ["CofferVault", "CofferPersistence", "CofferFileSystem", "CofferTesting"]),
    documentTests("CallbackDocumentTests", ["CofferCallbacks", "Neighbour"]),
    tests("CofferBusTests", ["CofferBus", "CofferCore", "CofferTesting", "CofferTestSupport"], exclude: ["headers.c"]),
    tests("CofferTerminalTests", ["CofferCore", "CofferTesting", "CofferTerminal"]),
    tests("TidyTests", []),
  ] + fuzzers + benchmarks
)

// Only some test targets, while you work on those: COFFER_TESTS=CofferSQLiteTests swift test.
if let wanted = Context.environment["COFFER_TESTS"]?.split(separator: ",").map(String.init) {
  package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}
