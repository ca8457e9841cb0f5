// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "OneServer",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "OneServer",
      dependencies: [
        .product(name: "CofferRouter", package: "coffer"), .product(name: "CofferPostgreSQL", package: "coffer"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
