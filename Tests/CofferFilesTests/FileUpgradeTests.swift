import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// The upgrade of a store of files whose journal has format 2.
@Suite(.serialized) struct FileUpgradeTests {
  // Requirement 1.67
  @Test func aJournalOfTheSecondFormatIsBroughtUp() async throws {
    let directory = try TemporaryDirectory()
    let store = directory.path("store")
    try FileManager.default.createDirectory(atPath: store + "/.coffer", withIntermediateDirectories: true)
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/format-2-journal.db")
    try FileManager.default.copyItem(atPath: golden.path, toPath: store + "/.coffer/journal.db")
    try Data("light".utf8).write(to: URL(fileURLWithPath: store + "/theme"))
    try Data("text".utf8).write(to: URL(fileURLWithPath: store + "/notes%2fa"))
    let engine = try await SlotEngine.files(in: URL(fileURLWithPath: store))
    // The files match their records, so they count as not edited and keep their revisions.
    #expect(engine.latestRevision == StoreRevision(3))
    #expect(
      try await engine.entry(KeyName("theme"))
        == StoreEntry(key: KeyName("theme"), value: Data("light".utf8), revision: StoreRevision(3))
    )
    #expect(try await engine.summaries().map(\.size) == [4, 5])
    let version = ValueAttribute<UInt64>(applicationCode: 128)
    var attributes = ValueAttributes()
    attributes[version] = 2
    try await engine.commit(WriteBatch([.put(KeyName("theme"), Data("dark".utf8), attributes)]), from: StoreOrigin())
    #expect(try await engine.entry(KeyName("theme"))?.attributes == attributes)
    // An edit by another program leaves no attributes, whichever method reads the value.
    try Data("edited".utf8).write(to: URL(fileURLWithPath: store + "/theme"))
    let read = try #require(try await engine.entries([KeyName("theme")])[0])
    #expect(read.value == Data("edited".utf8) && read.attributes.isEmpty)
    let edited = try #require(try await engine.entry(KeyName("theme")))
    #expect(edited.value == Data("edited".utf8) && edited.attributes.isEmpty)
    try await engine.close()
  }
}
