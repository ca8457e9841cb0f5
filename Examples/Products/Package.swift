// swift-tools-version: 6.3
import PackageDescription

// One program for each product, with nothing but that product.
let products = [
  "Coffer", "CofferAll", "CofferBus", "CofferCallbacks", "CofferCore", "CofferEncryption", "CofferPersistence",
  "CofferPostgreSQL", "CofferRouter", "CofferSQLite", "CofferSecrets", "CofferTerminal", "CofferTesting", "CofferVault",
]

let package = Package(
  name: "Products",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: products.map {
    .executableTarget(
      name: "Use" + $0, dependencies: [.product(name: $0, package: "coffer")],
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("MemberImportVisibility")])
  }
)
