// swift-tools-version: 6.3
import CompilerPluginSupport
import Foundation
import PackageDescription

// The macro @Client, a package of its own: it needs a toolchain with swift-syntax, which Coffer itself does not.

// The modules of swift-syntax that the toolchain itself uses.
// The toolchain that evaluates this manifest has loaded a library of its folder lib/swift/pm.
let syntaxModules: String? = {
  // A read of the whole file at once would end after 4,096 bytes.
  let maps = (try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()) ?? Data()
  let own = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
    line.range(of: "/pm/ManifestAPI/").map { line[..<$0.lowerBound].drop { $0 != "/" } + "/host" }
  }
  return ([Context.environment["COFFER_SWIFT_HOST"]].compactMap { $0 } + own.map(String.init)).first {
    FileManager.default.fileExists(atPath: $0 + "/SwiftSyntax.swiftmodule")
  }
}()
let compiling = syntaxModules.map { [SwiftSetting.unsafeFlags(["-I", $0])] } ?? []
let linking = syntaxModules.map { [LinkerSetting.unsafeFlags(["-L", $0, "-Xlinker", "-rpath", "-Xlinker", $0])] } ?? []

let strict = Context.environment["COFFER_STRICT"] != nil
let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ] + (strict ? [.treatAllWarnings(as: .error)] : [])

func floor(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
  name: "coffer-macros",
  platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
  products: [.library(name: "CofferMacros", targets: ["CofferMacros"])],
  dependencies: [.package(name: "coffer", path: "..")],
  targets: [
    // Floor 0: a plug-in of the compiler
    .macro(name: "CofferMacrosPlugin", swiftSettings: settings + compiling, linkerSettings: linking),
    // Floor 8: over the clients
    floor("CofferMacros", ["CofferMacrosPlugin", .product(name: "CofferPersistence", package: "coffer")]),
    // Tests
    .testTarget(
      name: "CofferMacrosTests", dependencies: ["CofferMacrosPlugin"], swiftSettings: settings + compiling,
      linkerSettings: linking),
  ]
)
