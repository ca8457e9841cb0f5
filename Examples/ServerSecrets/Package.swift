// swift-tools-version: 6.3
import PackageDescription

// For a server without a desktop: builds without libsecret, since the trait `SecretService` is disabled.
// By its URL, or else beside this example.
let url = Context.environment["COFFER_URL"]
let coffer: Package.Dependency =
  url.map { .package(url: $0, from: "0.1.0", traits: []) } ?? .package(name: "coffer", path: "../..", traits: [])

let package = Package(
  name: "ServerSecrets",
  platforms: [.macOS(.v14)],
  dependencies: [coffer],
  targets: [
    .executableTarget(
      name: "ServerSecrets", dependencies: [.product(name: "CofferRouter", package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
