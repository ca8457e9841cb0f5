// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "Database",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "Database",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferSQLite", package: "coffer"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
