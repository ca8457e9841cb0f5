import CofferTestTraits
import Foundation
import Testing

/// Tests that the demonstration fails when what it demonstrates is violated from outside.
@Suite(.blocking) struct BrokenPromiseTests {
  @Test func aFileThatDoesNotHoldItsValueFailsTheDemonstration() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-demo-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let products = folder.appendingPathComponent("products")
    let run = try DemoRun(["--generate", "20", "--json", "--keep", folder.path]) {
      // The first five files are excluded, since a second process replaces them.
      let names = (try? FileManager.default.contentsOfDirectory(atPath: products.path))?.sorted()
      guard let name = names?.last(where: { $0.hasSuffix(".json") }) else { return }
      try Data("{}".utf8).write(to: products.appendingPathComponent(name))
    }
    #expect(run.exitCode == 1)
    let summary = try JSONDecoder().decode(Summary.self, from: run.output)
    #expect(!summary.isPassed)
    #expect(!summary.failedActs.isEmpty && summary.failedActs.isSubset(of: 9...14), "\(summary.failedActs)")
    #expect(run.errors.contains("FAILED in act"), "\(run.errors)")
  }

  @Test func anEditorAndAJournalOtherThanShownFailTheDemonstration() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-demo-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, script) in [("sed", "#!/bin/sh\necho other; cat \"$2\"\n"), ("rm", "#!/bin/sh\nexit 0\n")] {
      let path = folder.appendingPathComponent(name).path
      try Data(script.utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    let run = try DemoRun(["--generate", "20", "--json"], path: folder.path)
    #expect(run.exitCode == 1)
    let failed = try JSONDecoder().decode(Summary.self, from: run.output).failedActs
    #expect(failed.isSuperset(of: [11, 13]) && failed.isDisjoint(with: 1...9), "\(failed)")
  }
}
