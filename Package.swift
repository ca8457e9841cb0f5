// swift-tools-version: 6.3
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
    fuzzer("FuzzSelection", ["CofferCore", "CofferSQLite"]),
    fuzzer("FuzzFileName", ["CofferCore", "CofferFiles"]),
    fuzzer("FuzzRecord", ["CofferSlots"]),
    fuzzer("FuzzPreferences", ["CofferCore", "CofferPreferences", "CofferSlots"]),
    fuzzer("FuzzEnvelope", ["CofferCore", "CofferCrypto"]),
    fuzzer("FuzzKeyRing", ["CofferCore", "CofferCrypto", "CofferEncryption"]),
    fuzzer("FuzzAnchor", ["CofferCore", "CofferCrypto", "CofferEncryption"]),
    fuzzer("FuzzSealed", ["CofferCore", "CofferCrypto", "CofferKeychain", "CofferSlots"]),
  ]

func benchmark(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "Benchmarks/Sources/\(name)", swiftSettings: settings)
}

// The benchmarks are a package of their own, which sees no symbols of access level package: ./run bench requests them.
let benchmarked: [Target] =
  Context.environment["COFFER_BENCH"] == nil
  ? []
  : [benchmark("CofferCryptoBench", ["CofferCOpenSSL", "CofferCore", "CofferCrypto"])]

let package = Package(
  name: "coffer",
  platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
  products: [
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferCore", targets: ["CofferCore"]),
    .library(name: "CofferBus", targets: ["CofferBus"]),
    .library(name: "CofferDatabase", targets: ["CofferDatabase"]),
    .library(name: "CofferLocks", targets: ["CofferLocks"]),
    .library(name: "CofferProcessTesting", targets: ["CofferProcessTesting"]),
    .library(name: "CofferTerminal", targets: ["CofferTerminal"]),
    .library(name: "CofferTesting", targets: ["CofferTesting"]),
    .executable(name: "coffer", targets: ["CofferCommand"]),
    .executable(name: "coffer-demo", targets: ["CofferDemo"]),
  ] + (fuzzers.isEmpty ? [] : [.library(name: "CFuzzer", targets: ["CFuzzer"])])
    + benchmarked.map { .library(name: $0.name, targets: [$0.name]) },
  traits: [
    .default(enabledTraits: ["SecretService"]),
    .trait(name: "SecretService", description: "Keep secrets in the desktop's keyring on Linux."),
  ],
  targets: [
    // Floor 0: system libraries. Their headers lie where compilers look for them: pkg-config has nothing to add, and
    // SwiftPM would ask it for each of them in every package that depends on this one.
    .systemLibrary(name: "CofferCSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CofferCZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CofferCOpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CofferCGio"),
    .systemLibrary(name: "CofferCShims"),
    floor("CofferLocks", []),
    // Floor 1: contracts
    floor("CofferCore", ["CofferLocks"]),
    // Floor 2: base
    floor("CofferCrypto", ["CofferLocks", "CofferCore", "CofferCOpenSSL"]),
    floor("CofferFileSystem", ["CofferLocks", "CofferCore", "CofferCShims"]),
    floor("CofferTerminal", ["CofferCore"]),
    floor("CofferBus", ["CofferLocks", "CofferCGio"]),
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
      ["CofferLocks", "CofferCore", "CofferCSQLite", "CofferCZlib", "CofferCShims", "CofferFileSystem"]),
    // Floor 4: on the embedded engine
    floor("CofferSlots", ["CofferLocks", "CofferCore", "CofferFileSystem", "CofferPresence", "CofferSQLite"]),
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
      ]),
    // Floor 7: services
    floor("CofferTesting", ["CofferLocks", "CofferCore", "Coffer"]),
    // Floor 8: applications
    tool(
      "CofferCommand",
      [
        "CofferLocks", "Coffer", "CofferCrypto", "CofferEncryption", "CofferFileSystem", "CofferFiles",
        "CofferKeychain", "CofferPreferences", "CofferSQLite", "CofferSlots", "CofferTerminal",
      ]),
    tool("CofferDemo", ["CofferLocks", "Coffer"]),
    // Tests
    .target(
      name: "CofferTestSupport",
      dependencies: ["CofferCore", "CofferLocks", "CofferProcessTesting", "CofferSQLite", "CofferSlots"],
      path: "Tests/CofferTestSupport", exclude: ["fault.c"], swiftSettings: settings),
    .target(
      name: "CofferTestTraits", dependencies: ["CofferCore"], path: "Tests/CofferTestTraits", swiftSettings: settings),
    .target(name: "Neighbour", path: "Tests/Neighbour", swiftSettings: settings),
    tool("LegacyProgram", [], path: "Tests/LegacyProgram"),
    tool(
      "CofferTestHelper",
      [
        "Coffer", "CofferLocks", "CofferCSQLite", "CofferCore", "CofferCrypto", "CofferDatabase", "CofferEncryption",
        "CofferFileSystem", "CofferFiles", "CofferKeychain", "CofferPreferences", "CofferPrompt", "CofferSQLite",
        "CofferSlots", "CofferTestSupport",
      ],
      path: "Tests/CofferTestHelper"),
    tests(
      "CofferSQLiteTests",
      [
        "CofferLocks", "CofferCore", "CofferDatabase", "CofferSQLite", "CofferCSQLite", "CofferTesting",
        "CofferTestHelper", "CofferTestSupport",
      ],
      exclude: ["Golden"]),
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
        "CofferCSQLite", "CofferLocks", "Coffer", "CofferFileSystem", "CofferFiles", "CofferTesting",
        "CofferTestHelper", "CofferTestSupport", "LegacyProgram", "Neighbour",
      ],
      exclude: ["Golden"]),
    tests(
      "CofferRouterTests",
      [
        "CofferLocks", "Coffer", "CofferFileSystem", "CofferTesting", "CofferTestHelper", "CofferTestSupport",
      ]),
    tests("CofferTestingTests", ["CofferLocks", "CofferCore", "CofferTesting"]),
    tests("CofferDemoTests", ["CofferDemo"]),
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
      "CofferBusTests", ["CofferBus", "CofferLocks", "CofferTestSupport"], exclude: ["headers.c"]),
    tests("CofferTerminalTests", ["CofferTerminal"]),
    // The house itself
    tests("TidyTests", []),
    tests("ReadmeTests", ["CofferLocks", "Coffer", "CofferCore", "CofferFileSystem", "CofferTesting"]),
  ] + fuzzers + benchmarked
)

// Only some test targets and what they need, while you work on those: COFFER_TESTS=CofferSQLiteTests swift test.
if let wanted = Context.environment["COFFER_TESTS"]?.split(separator: ",").map(String.init) {
  var kept = Set(wanted)
  var rest = wanted
  while let name = rest.popLast() {
    for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
      guard case .byNameItem(let needed, _) = dependency, kept.insert(needed).inserted else { continue }
      rest.append(needed)
    }
  }
  kept.formUnion(["CofferBus", "CofferCGio"])  // named with a condition
  package.targets.removeAll { !kept.contains($0.name) }
  package.products = []
}
