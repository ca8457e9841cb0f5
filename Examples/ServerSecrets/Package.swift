// swift-tools-version: 6.3
import PackageDescription

// For a server without a desktop: builds without libsecret, since the trait `SecretService` is disabled.
let package = Package(
  name: "ServerSecrets",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "ServerSecrets", dependencies: [.product(name: "CofferRouter", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
