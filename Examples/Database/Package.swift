// swift-tools-version: 6.3
import PackageDescription

// By its URL, or else beside this example.
let url = Context.environment["COFFER_URL"]
let coffer: Package.Dependency =
  url.map { .package(url: $0, from: "0.1.0", traits: []) } ?? .package(name: "coffer", path: "../..", traits: [])

let package = Package(
  name: "Database",
  platforms: [.macOS(.v14)],
  dependencies: [coffer],
  targets: [
    .executableTarget(
      name: "Database",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferSQLite", package: "coffer"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
