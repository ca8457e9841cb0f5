import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Directories that other programs have filled are recognized and not used unasked.
@Suite("Foreign files", .serialized, .blocking)
struct ForeignFilesTests {
  private func legacy(_ form: String, in directory: StoreDirectory) throws {
    let writer = try HelperProcess([form, directory.path], executable: "LegacyProgram")
    writer.process.waitUntilExit()
    try #require(writer.process.terminationStatus == 0)
  }

  /// Opens the directory and returns what was recognized.
  private func refusal(
    _ directory: StoreDirectory, sourceLocation: SourceLocation = #_sourceLocation,
    _ configure: @escaping (inout SlotEngine.Configuration) -> Void = { _ in }
  ) async throws -> (StorageError, ForeignData) {
    let before = try directory.contents()
    let error = await #expect(throws: StorageError.self, sourceLocation: sourceLocation) {
      _ = try await directory.open(configure)
    }
    let found = try #require(error, sourceLocation: sourceLocation)
    #expect(found.code == .foreignFormat, "\(found)", sourceLocation: sourceLocation)
    #expect(try directory.contents() == before, sourceLocation: sourceLocation)
    #expect(!FileManager.default.fileExists(atPath: directory.control("")), sourceLocation: sourceLocation)
    return (found, try #require(found.foreignData, sourceLocation: sourceLocation))
  }

  // Requirement 1.67
  @Test func whatPrintedAdaptersWroteIsRefused() async throws {
    let directory = try StoreDirectory()
    try legacy("files", in: directory)
    let (error, found) = try await refusal(directory)
    #expect(found.container == .directory)
    #expect((found.count, found.hasMore) == (3, false))
    #expect(found.examples == ["theme", "token", "userName"])
    #expect(found.encodings == [.jsonText: 3])
    #expect(error.description.contains("3 files: 'theme', 'token', 'userName'. Their content is JSON text (3)."))
    #expect(error.description.contains("import(from:)"))
    #expect(!error.description.contains("John"))
  }

  // Requirement 1.67
  @Test func storedObjectsAreRefused() async throws {
    let directory = try StoreDirectory()
    try legacy("objects", in: directory)
    #expect(try await refusal(directory).1.encodings == [.storedObject: 2])
  }

  @Test(arguments: [StoreAccess.readOnly, .readWrite, .readWriteOrReadOnly], [true, false])
  func everyWayOfOpeningRefuses(_ access: StoreAccess, _ creates: Bool) async throws {
    let directory = try StoreDirectory()
    try legacy("files", in: directory)
    _ = try await refusal(directory) {
      $0.access = access
      $0.createsIfMissing = creates
    }
    let adapter = FileStorageAdapter(directory: directory.url)
    await #expect(throws: StorageError.self) { try await adapter.read(key: "missing") }
    #expect(await adapter.exists(key: "missing"), "nothing is proven absent")
  }

  @Test(arguments: [true, false])
  func ignoredFilesAreValuesAndMakeAStore(_ creates: Bool) async throws {
    let directory = try StoreDirectory()
    try legacy("files", in: directory)
    let engine = try await directory.open {
      $0.foreignData = .ignore
      $0.createsIfMissing = creates
    }
    #expect(try await engine.entry("theme")?.value == Data("\"dark\"".utf8))
    try await engine.close()
    let again = try await directory.open()
    #expect(try await again.entry("theme")?.value == Data("\"dark\"".utf8))
    try await again.close()
  }

  @Test func ignoredFilesCanBeReadWithoutAChange() async throws {
    let directory = try StoreDirectory()
    try legacy("files", in: directory)
    let engine = try await directory.open {
      $0.foreignData = .ignore
      $0.access = .readOnly
    }
    #expect(try await engine.entry("theme")?.value == Data("\"dark\"".utf8))
    try await engine.close()
    #expect(!FileManager.default.fileExists(atPath: directory.control("")))
  }

  @Test func aDirectoryWithoutFilesIsANewStore() async throws {
    let directory = try StoreDirectory()
    let files = FileManager.default
    try files.createDirectory(at: directory.url.appendingPathComponent("Photos"), withIntermediateDirectories: true)
    try Data("x".utf8).write(to: directory.url.appendingPathComponent("Photos/a.jpg"))
    try Data().write(to: directory.url.appendingPathComponent(".DS_Store"))
    try files.createSymbolicLink(atPath: directory.path + "/link", withDestinationPath: "/etc/passwd")
    #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
    let engine = try await directory.open()
    #expect(try await engine.summaries().isEmpty)
    try await engine.close()
  }

  @Test func hostileFilesAreCountedAndLookedAtSafely() async throws {
    let directory = try StoreDirectory()
    let files = FileManager.default
    try files.createDirectory(at: directory.url, withIntermediateDirectories: true)
    func put(_ name: String, _ data: Data) throws {
      try data.write(to: directory.url.appendingPathComponent(name))
    }
    try put("cut", Data("{\"transactionID\":\"1".utf8))
    try put("deep", Data(repeating: UInt8(ascii: "["), count: 50_000))
    try put("empty", Data())
    try put("large", Data("\"".utf8) + Data(repeating: 0x61, count: 1 << 20))
    try put("utf16", try #require("{\"a\":\"ü\"}".data(using: .utf16)))
    try put("new\nline", Data([0xFF, 0xFE, 0]))
    #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
    try files.createSymbolicLink(atPath: directory.path + "/zero", withDestinationPath: "/dev/zero")
    try put("private", Data("x".utf8))
    #expect(chmod(directory.path + "/private", 0) == 0)
    let found = try #require(try ForeignFiles.recognize(in: directory.path, location: "file:x"))
    #expect(found.count == 7)
    #expect(found.encodings[.jsonText] ?? 0 >= 1)
    #expect(!found.summary.contains("\n"))
  }

  @Test func aHundredThousandFilesAreNotAllListed() async throws {
    let directory = try StoreDirectory()
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    for number in 0..<100_000 {
      let file = open(directory.path + "/\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      close(file)
    }
    let found = try #require(try ForeignFiles.recognize(in: directory.path, location: "file:x"))
    #expect((found.count, found.hasMore, found.examples.count) == (10_000, true, 5))
    #expect(found.encodings.values.reduce(0, +) <= 16)
    #expect(found.summary.contains("more than 10000 files"))
  }

  @Test func aFileAmongManySubdirectoriesIsFound() throws {
    let directory = try StoreDirectory()
    for number in 0..<300 {
      try FileManager.default.createDirectory(
        atPath: directory.path + "/folder\(number)", withIntermediateDirectories: true)
    }
    try Data("dark".utf8).write(to: URL(fileURLWithPath: directory.path + "/theme"))
    let listed = try Directory(directory.path, location: directory.path).fileNames(limit: 1)
    #expect(listed == ["theme"])
    #expect(try ForeignFiles.recognize(in: directory.path, location: directory.path)?.examples == ["theme"])
  }

  @Test func aStoreThatLostItsJournalIsNotForeign() async throws {
    let directory = try StoreDirectory()
    let store = try await directory.open()
    try await store.commit(WriteBatch([.put("theme", Data("dark".utf8))]), from: StoreOrigin())
    try await store.close()
    for suffix in ["", "-wal", "-shm", "-wake"] { unlink(directory.control("journal.db" + suffix)) }
    let engine = try await directory.open()
    #expect(try await !engine.summaries().isEmpty)
    try await engine.close()
    try FileManager.default.removeItem(atPath: directory.control(""))
    #expect(try await refusal(directory).0.advice.contains("whose folder .coffer was deleted"))
  }

  @Test(arguments: [
    (#""John""#, ForeignData.Encoding.jsonText), (#" {"a": 1}"#, .jsonText), ("17", .jsonText), ("null", .jsonText),
    ("hello", .plain), ("", .plain), ("{", .plain), ("aGVsbG8=", .base64), ("password", .plain),
    (#"{"transactionID":"7B1C3E3E-6F5B-4E0B-9D2A-000000000001","value":"ImEi"}"#, .storedObject),
    (#"{"value":"ImEi","transactionID":"7B1C3E3E-6F5B-4E0B-9D2A-000000000001"}"#, .storedObject),
    (#"{"value":"no base64!","transactionID":"7B1C3E3E-6F5B-4E0B-9D2A-000000000001"}"#, .jsonText),
    ("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>", .propertyList), ("bplist00", .propertyList),
    ("SQLite format 3\u{0}", .database),
  ])
  func formsAreRecognized(_ text: String, _ encoding: ForeignData.Encoding) {
    #expect(ForeignData.Encoding(recognizing: Data(text.utf8)) == encoding)
  }
}
