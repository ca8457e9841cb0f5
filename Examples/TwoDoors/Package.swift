// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "TwoDoors",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: [
    .executableTarget(
      name: "TwoDoors",
      dependencies: [
        .product(name: "CofferPersistence", package: "coffer"), .product(name: "CofferVault", package: "coffer"),
      ])
  ]
)
