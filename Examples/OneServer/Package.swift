// swift-tools-version: 6.3
import PackageDescription

// By its URL, or else beside this example.
let url = Context.environment["COFFER_URL"]
let coffer: Package.Dependency =
  url.map { .package(url: $0, from: "0.1.0", traits: []) } ?? .package(name: "coffer", path: "../..", traits: [])

let package = Package(
  name: "OneServer",
  platforms: [.macOS(.v14)],
  dependencies: [coffer],
  targets: [
    .executableTarget(
      name: "OneServer",
      dependencies: [
        .product(name: "CofferRouter", package: "coffer"), .product(name: "CofferPostgreSQL", package: "coffer"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
