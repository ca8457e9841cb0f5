// swift-tools-version: 6.3
import PackageDescription

// The macro `@Client` is a package of its own, which needs a toolchain that contains swift-syntax.
let package = Package(
  name: "ClientMacro",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer-macros", path: "../../Macros")],
  targets: [
    .executableTarget(
      name: "ClientMacro", dependencies: [.product(name: "CofferMacros", package: "coffer-macros")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
