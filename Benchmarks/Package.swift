// swift-tools-version: 6.3
import PackageDescription

// Coffer has this product only if ./run bench requests it.
let sealing: [Target.Dependency] =
  Context.environment["COFFER_BENCH"] == nil
  ? []
  : [
    .product(name: "CofferCryptoBench", package: "coffer"), .product(name: "CofferPostgreSQLBench", package: "coffer"),
  ]

// A package of its own, so that what Coffer is compared with never reaches its users.
let package = Package(
  name: "coffer-benchmarks",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: ".."), .package(name: "watchify", path: "../Watchify")],
  targets: [
    .systemLibrary(name: "BenchSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .executableTarget(
      name: "CofferBench",
      dependencies: [
        "BenchSQLite", .product(name: "Coffer", package: "coffer"),
        .product(name: "CofferCore", package: "coffer"), .product(name: "CofferEncryption", package: "coffer"),
        .product(name: "CofferRouter", package: "coffer"),
        .product(name: "CofferVault", package: "coffer"),
        .product(name: "CofferPostgreSQL", package: "coffer"), .product(name: "ReplayShop", package: "watchify"),
        .product(name: "WatchifyHTTP", package: "watchify"), .product(name: "WatchifyKit", package: "watchify"),
        .product(name: "WatchifyWeb", package: "watchify"),
      ] + sealing,
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")],
      linkerSettings: [.linkedLibrary("pq")]),  // by hand, which Coffer loads when it needs it
    .systemLibrary(name: "BenchValgrind", providers: [.apt(["valgrind"])]),
    .executableTarget(
      name: "CofferCounts",
      dependencies: [
        "BenchValgrind", .product(name: "CofferRouter", package: "coffer"),
        .product(name: "CofferPostgreSQL", package: "coffer"),
      ] + sealing,
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")],
      linkerSettings: [.linkedLibrary("pq")]),
  ]
)
