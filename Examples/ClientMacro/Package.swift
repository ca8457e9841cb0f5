// swift-tools-version: 6.3
import PackageDescription

// The macro `@Client` needs the trait `Macros`, and a toolchain that contains swift-syntax.
let package = Package(
  name: "ClientMacro",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: ["Macros"])],
  targets: [
    .executableTarget(
      name: "ClientMacro", dependencies: [.product(name: "CofferPersistence", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
