// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "EverydayUse",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: [
    .executableTarget(
      name: "EverydayUse", dependencies: [.product(name: "CofferRouter", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
