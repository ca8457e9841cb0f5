// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "TypedKeys",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: [
    .executableTarget(
      name: "TypedKeys", dependencies: [.product(name: "CofferRouter", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
