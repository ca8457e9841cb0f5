// swift-tools-version: 6.3
import PackageDescription

// A separate package, which uses only the public API of Coffer, like any other application.

// The settings of Coffer's own targets. COFFER_STRICT, set by ./run, turns warnings into errors.
let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ] + (Context.environment["COFFER_STRICT"] != nil ? [.treatAllWarnings(as: .error)] : [])

/// Returns dependencies by name: products of Coffer, and targets of this package.
func dependencies(_ names: [String]) -> [Target.Dependency] {
  names.map { $0.hasPrefix("Coffer") ? .product(name: $0, package: "coffer") : .byName(name: $0) }
}

func floor(_ name: String, _ names: [String], _ others: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies(names) + others, swiftSettings: settings)
}

func embedding(_ files: [String], in target: Target) -> Target {
  target.resources = files.map { .embedInCode($0) }
  return target
}

func tool(_ name: String, _ names: [String], path: String? = nil) -> Target {
  .executableTarget(name: name, dependencies: dependencies(names), path: path, swiftSettings: settings)
}

func tests(_ name: String, _ names: [String], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies(names), exclude: exclude, swiftSettings: settings)
}

// The fuzzer requires sanitizer flags, so it is only defined under ./run fuzz.
let fuzzers: [Target] =
  Context.environment["COFFER_FUZZ"] == nil
  ? []
  : [
    .executableTarget(
      name: "FuzzFeed", dependencies: ["WatchifyKit", .product(name: "CFuzzer", package: "coffer")],
      path: "Fuzz/FuzzFeed",
      swiftSettings: settings,
      linkerSettings: [.unsafeFlags(["-use-ld=lld", "-Xlinker", "--allow-multiple-definition"])])
  ]

let package = Package(
  name: "watchify",
  platforms: [.macOS(.v14)],
  products: [
    .library(name: "ReplayShop", targets: ["ReplayShop"]),
    .library(name: "WatchifyHTTP", targets: ["WatchifyHTTP"]),
    .library(name: "WatchifyKit", targets: ["WatchifyKit"]),
    .library(name: "WatchifyWeb", targets: ["WatchifyWeb"]),
    .executable(name: "replay-shop", targets: ["ReplayShopServer"]),
    .executable(name: "watchify", targets: ["Watchify"]),
  ],
  dependencies: [.package(name: "coffer", path: "..")],
  targets: [
    // Floor 0: system libraries
    .systemLibrary(name: "WatchifyCCurl"),
    .systemLibrary(name: "WatchifyCMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "WatchifyCShims"),
    .systemLibrary(name: "WatchifyCZlib", providers: [.apt(["zlib1g-dev"])]),
    // Floor 2: a server
    floor(
      "WatchifyHTTP", ["CofferCore"], [.target(name: "WatchifyCMicrohttpd", condition: .when(platforms: [.linux]))]),
    // Floor 11: services
    floor("ReplayShop", ["WatchifyHTTP", "CofferCore", "WatchifyCZlib"]),
    floor(
      "WatchifyKit",
      [
        "Coffer", "CofferBus", "CofferSQLite", "CofferCore", "CofferEncryption", "CofferRouter", "CofferSecrets",
        "WatchifyCCurl", "WatchifyCShims",
      ]),
    // Floor 12: the page, and a tool for tests
    embedding(
      ["Assets/watchify.css", "Assets/watchify.js"],
      in: floor(
        "WatchifyWeb",
        ["Coffer", "CofferEncryption", "CofferRouter", "WatchifyHTTP", "CofferCore", "CofferTerminal", "WatchifyKit"])),
    tool("ReplayShopServer", ["ReplayShop"]),
    // Floor 13: the application
    tool(
      "Watchify",
      [
        "Coffer", "CofferEncryption", "CofferRouter", "WatchifyHTTP", "CofferCore", "CofferTerminal", "ReplayShop",
        "WatchifyCShims", "WatchifyKit",
        "WatchifyWeb",
      ]),
    // Tests
    tool("WatchifyTestHelper", ["WatchifyCShims", "WatchifyKit"], path: "Tests/WatchifyTestHelper"),
    .target(
      name: "WatchifyTestSupport", path: "Tests/WatchifyTestSupport", swiftSettings: settings),
    tests("WatchifyHTTPTests", ["WatchifyHTTP", "CofferCore", "CofferTesting", "WatchifyTestSupport"]),
    tests("ReplayShopTests", ["CofferTesting", "ReplayShop", "ReplayShopServer", "WatchifyTestSupport"]),
    tests(
      "WatchifyKitTests",
      [
        "Coffer", "CofferEncryption", "CofferRouter", "CofferSecrets", "CofferBus", "CofferSQLite", "CofferCore",
        "CofferTesting", "ReplayShop",
        "ReplayShopServer", "Watchify", "WatchifyKit", "WatchifyTestHelper", "WatchifyTestSupport",
      ]),
    tests(
      "WatchifyWebTests",
      [
        "CofferRouter", "CofferTerminal", "CofferSQLite", "WatchifyHTTP", "CofferCore", "CofferTesting", "ReplayShop",
        "WatchifyKit",
        "WatchifyTestSupport", "WatchifyWeb",
      ]),
    tests(
      "WatchifyTests",
      [
        "Coffer", "CofferRouter", "CofferSQLite", "WatchifyHTTP", "CofferCore", "CofferTesting", "CofferTerminal",
        "ReplayShop",
        "Watchify", "WatchifyKit", "WatchifyTestSupport",
      ],
      exclude: ["Support/user-manager.sh"]),
  ] + fuzzers
)
