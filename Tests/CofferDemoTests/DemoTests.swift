import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Tests of the demonstration as a program.
@Suite(.blocking) struct DemoTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  /// Runs the built program, with a folder that precedes the system's folders in `PATH`.
  private func run(_ arguments: [String] = [], path: String = "") async throws -> EndedProgram {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
    let binaries =
      bundle.bundlePath.hasSuffix(".xctest") ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
    let process = Process()
    process.executableURL = binaries.appendingPathComponent("coffer-demo")
    process.arguments = arguments
    process.environment = ["PATH": path + ":/usr/bin:/bin"]
    return try await RunningProgram(process, in: folder.url).ended()
  }

  @Test func allActsPassAndTheStoresAreKept() async throws {
    let ended = try await run(["--keep", folder.path("kept")])
    #expect(ended.status == 0 && ended.text.contains("checks passed in"), "\(ended.text)\(ended.errors)")
    #expect(!ended.text.contains("\u{1B}") && ended.lines.dropLast().filter { $0.count > 80 } == [])
    for name in ["shop.db", "products/mat-7.json", "shop.sealed"] {
      #expect(FileManager.default.fileExists(atPath: folder.path("kept/" + name)), "\(name)")
    }
    // A folder that exists is not used.
    #expect(try await run(["--keep", folder.path("kept")]).status == 1)
  }

  @Test func anEditorOtherThanShownFailsTheDemonstration() async throws {
    try Data("#!/bin/sh\necho other; cat \"$2\"\n".utf8).write(to: folder.url.appendingPathComponent("sed"))
    chmod(folder.path("sed"), 0o755)
    let ended = try await run(path: folder.url.path)
    #expect(ended.status == 1 && ended.text.contains("1 check FAILED"), "\(ended.text)")
  }

  @Test(arguments: [["--fast"], ["--keep"], ["--keep", "a", "b"], ["extra"]])
  func wrongOptionsAreExplained(_ options: [String]) async throws {
    let ended = try await run(options)
    #expect(ended.status == 2 && ended.errors.contains("usage: coffer-demo") && ended.output.isEmpty)
  }
}
