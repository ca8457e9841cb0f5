// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "CommandLine",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "words", dependencies: [.product(name: "CofferTerminal", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
