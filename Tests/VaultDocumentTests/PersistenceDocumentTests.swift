import CofferPersistence
import Foundation
import Testing

/// Document 1: its printed code beside the package's own, over one custom adapter.
@Suite(.timeLimit(.minutes(10))) struct PersistenceDocumentTests {
  private static let document = DocumentTests.document.deletingLastPathComponent()
    .appendingPathComponent("1-persistence-capability.md")
  private static let isPresent = FileManager.default.isReadableFile(atPath: document.path)

  struct Everything: Codable, Equatable {
    var name = "Ann \"the cat\" é\n"
    var date = Date(timeIntervalSinceReferenceDate: 1.5)
    var bytes = Data([0, 255, 34])
  }

  private func use(_ body: (FileStorageAdapter) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-printed-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(FileStorageAdapter(directory: directory))
  }

  /// Saves a value with one persistence and loads it with the other.
  private func exchange<T: Codable & Equatable>(
    _ value: T, _ writer: PersistenceCapability, _ reader: PersistenceCapability
  )
    async throws
  {
    try await writer.save(value, for: "value")
    #expect(try await reader.load(T.self, for: "value") == value)
    #expect(try await reader.loadBatch(T.self, keys: ["none", "value"]) == [nil, value])
    try await writer.saveBatch([("a", value), ("b", value)])
    #expect(try await reader.load(T.self, for: "b") == value)
  }

  // Requirement 1.3
  @Test func whatThePrintedCodeHasStoredIsLoadedAndTheOtherWayRound() async throws {
    try await use { adapter in
      let printed: PersistenceCapability = AdapterBasedPersistence(adapter: adapter)
      let own: PersistenceCapability = CofferPersistence.AdapterBasedPersistence(adapter: adapter)
      for (writer, reader) in [(printed, own), (own, printed), (own, own)] {
        for text in ["dark", "", "\"quoted\"", "a \\ b\n", "null", "7"] { try await exchange(text, writer, reader) }
        for data in [Data(), Data([0, 255]), Data("\"AQI=\"".utf8)] { try await exchange(data, writer, reader) }
        try await exchange(Everything(), writer, reader)
        try await exchange(7, writer, reader)
        try await exchange(["a", "b"], writer, reader)
      }
      try await printed.save("dark", for: "theme")
      #expect(try await own.load(key: "theme") == Data("\"dark\"".utf8), "the stored bytes")
      #expect(
        try await CofferPersistence.AdapterBasedPersistence(adapter: adapter).store.load(String.self, for: "theme")
          == "dark")
    }
  }

  // Requirement 1.3
  @Test func bytesThatAreNotJSONAreKept() async throws {
    try await use { adapter in
      try await adapter.write(key: "theme", data: Data("dark".utf8))
      let own = CofferPersistence.AdapterBasedPersistence(adapter: adapter)
      let error = await #expect(throws: StorageError.self) { try await own.load(String.self, for: "theme") }
      #expect(error?.code == .decodingFailed)
      #expect(try await own.load(key: "theme") == Data("dark".utf8))
    }
  }

  // Requirement 1.19
  @Test func aClientOfThreeMembersIsSaved() async throws {
    try await use { adapter in
      let persistence = CofferPersistence.AdapterBasedPersistence(adapter: adapter)
      let client = PrintedClient(persistence: persistence)
      try await client.persistState()
      try await client.restoreState()
      #expect(try await persistence.load(String.self, for: "theme") == "dark")
      try await persistence.migrate(from: "1", to: "1")
    }
  }

  // Requirement 1.10
  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(document.path)"))
  func everyDeclarationIsCompiledVerbatim() throws {
    let fences = DocumentTests.fences(try String(contentsOf: Self.document, encoding: .utf8))
    let compiled = try DocumentTests.lines(of: "Tests/VaultDocumentTests/PrintedPersistence.swift")
    let adapter = try DocumentTests.lines(of: "Sources/CofferCore/Contract/StorageAdapter.swift")
    let client = try DocumentTests.lines(of: "Sources/CofferPersistence/Clients/Client.swift")
    let persistence = try DocumentTests.lines(of: "Sources/CofferPersistence/PersistenceCapability.swift")
    #expect(fences.count == 5)
    for line in fences[0] { #expect(client.contains { $0.replacing("any ", with: "").hasSuffix(line) }, "\(line)") }
    #expect(persistence.contains(run: fences[1]))
    for line in fences[2].prefix(6) { #expect(adapter.contains(line), "the protocol lacks: \(line)") }
    // Without the closing brace: the types have more members.
    #expect(compiled.contains(run: Array(fences[2].dropFirst(6).dropLast())))
    #expect(compiled.contains(run: Array(fences[3].dropLast())))
    #expect(fences[4].first == "@Client", "Examples/ClientMacro")
  }
}
