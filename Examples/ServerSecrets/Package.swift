// swift-tools-version: 6.3
import PackageDescription

// A server without a desktop: it builds without libsecret, since the trait `SecretService` is switched off.
let package = Package(
  name: "ServerSecrets",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "ServerSecrets", dependencies: [.product(name: "Coffer", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
