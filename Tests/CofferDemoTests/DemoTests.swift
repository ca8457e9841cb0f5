import CofferTestTraits
import Foundation
import Testing

/// Tests of the demonstration as a program: its options, exit code and summary.
@Suite(.blocking) struct DemoTests {
  @Test func allActsPassAndCountWhatTheyDid() throws {
    let run = try DemoRun(["--generate", "200", "--json"])
    #expect(run.exitCode == 0, "\(run.errors)")
    let summary = try JSONDecoder().decode(Summary.self, from: run.output)
    #expect(summary.isPassed && summary.checks.allSatisfy(\.isPassed))
    #expect(Set(summary.checks.map(\.act)) == Set(1...19))
    #expect(summary.products == 200 && summary.variants >= 200)
    #expect(summary.savedOneByOne == 50 && summary.savedInOneBatch == 50 && summary.savedConcurrently == 100)
    #expect(summary.readBack == 200)
    #expect(summary.changesSent == 401 && summary.changesHeard == 401)
    #expect(summary.kills >= 10 && summary.killsInsideASave > 0 && summary.productsConfirmedBeforeAKill > 0)
    #expect(summary.lost == 0 && summary.halfBatches == 0)
    #expect(summary.damagedValuesReported == 1 && summary.readBesideTheDamage == 199)
    #expect(summary.files == 200 && summary.filesReadAfterRebuild == 200)
    #expect(summary.fileKills == 6 && summary.filesLost == 0 && summary.halfFileBatches == 0)
    #expect(summary.wordsFoundInPlain == 3_000 && summary.wordsFoundEncrypted == 0)
    #expect(summary.rotationKills == 1 && summary.readAfterRotation == 1_500)
    #expect(summary.readAfterShredding == 0)
    #expect(summary.readAfterMigration == 200)
    #expect(summary.store == nil && summary.directory == nil)
  }

  @Test func feedsAreReadBareAndWrappedAndTheStoreIsKept() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-demo-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let feeds = folder.appendingPathComponent("feeds/shop")
    try FileManager.default.createDirectory(at: feeds, withIntermediateDirectories: true)
    let products = (1...20).map { number in
      let variant = #"{"id": \#(number)1, "title": "M", "sku": null, "price": "12.50", "available": true}"#
      let image = number.isMultiple(of: 2) ? #""https://shop.example/a.jpg""# : #"{"src": "b.jpg", "width": 10}"#
      return #"{"id": \#(number), "title": "Mat", "handle": "mat-\#(number)", "vendor": "V", "#
        + #""variants": [\#(variant)], "images": [\#(image)]}"#
    }
    let feed = #"{"products": [\#(products.joined(separator: ","))]}"#
    try Data(feed.utf8).write(to: feeds.appendingPathComponent("bare.json"))
    try Data(#"{"url": "u", "status": 200, "body": \#(feed)}"#.utf8)
      .write(to: feeds.appendingPathComponent("wrapped.json"))
    try Data("[]".utf8).write(to: feeds.appendingPathComponent("other.json"))

    let kept = folder.appendingPathComponent("kept")
    let options = ["--data", folder.appendingPathComponent("feeds").path, "--keep", kept.path]
    let run = try DemoRun(options + ["--json"])
    #expect(run.exitCode == 0, "\(run.errors)")
    #expect(try JSONDecoder().decode(Summary.self, from: run.output).readBack == 40)
    #expect(FileManager.default.fileExists(atPath: kept.appendingPathComponent("shop.db").path))
    let directory = kept.appendingPathComponent("products")
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix("mat-") }
    #expect(names.count == 40 && names.contains("mat-7.json") && names.contains("mat-7.2.json"))
    // Existing stores are not overwritten.
    #expect(try DemoRun(options).exitCode == 2)
    try FileManager.default.removeItem(at: kept.appendingPathComponent("shop.db"))
    #expect(try DemoRun(options).exitCode == 2)
  }

  @Test(arguments: [
    (["--data", "no/such/folder"], "no folder 'no/such/folder'"), (["--generate", "many"], "not 'many'"),
    (["--generate"], "needs a value"), (["--fast"], "no option '--fast'"),
    (["--keep", "/etc/passwd", "--generate", "20"], "'/etc/passwd' is a file; --keep needs a folder."),
    (["--json", "extra"], "coffer-demo takes no argument 'extra'."),
    (["--data", "a", "--generate", "20"], "exclude each other"),
  ])
  func wrongOptionsAreExplained(_ options: [String], _ text: String) throws {
    let run = try DemoRun(options)
    #expect(run.exitCode == 2)
    #expect(run.errors.contains(text), "\(run.errors)")
    #expect(run.output.isEmpty)
  }

  @Test func theOutputOfAPipeHasNoColoursAndFitsIn80Columns() throws {
    let run = try DemoRun(["--generate", "20"])
    #expect(run.exitCode == 0, "\(run.errors)")
    let text = String(decoding: run.output, as: UTF8.self)
    #expect(!text.contains("\u{1B}") && !text.contains("\r"))
    #expect(text.split(separator: "\n").filter { $0.count > 80 } == [])
    #expect(text.contains("checks passed in"))
  }
}
