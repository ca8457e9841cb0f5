import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Preferences in which another library has wrapped its values are recognized and not used unasked.
@Suite("Foreign preferences", .serialized, .blocking)
struct ForeignPreferencesTests {
  private func legacy(_ form: String) throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    let writer = try HelperProcess(
      [form, fixture.suite], executable: "LegacyProgram", environment: [("XDG_CONFIG_HOME", fixture.path)])
    writer.process.waitUntilExit()
    try #require(writer.process.terminationStatus == 0)
    try #require(FileManager.default.fileExists(atPath: fixture.file))
    return fixture
  }

  // Requirement 1.67
  @Test(arguments: [
    ("preferences", ["axiom.theme", "axiom.token", "axiom.userName"], ForeignData.Encoding.jsonText),
    ("preference-objects", ["theme"], .storedObject),
  ])
  func wrappedValuesAreRefusedUntilIgnored(_ form: String, _ names: [String], _ encoding: ForeignData.Encoding)
    async throws
  {
    let fixture = try legacy(form)
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    for access in [StoreAccess.readWrite, .readOnly] {
      let error = await #expect(throws: StorageError.self) { _ = try await fixture.open { $0.access = access } }
      #expect(error?.code == .foreignFormat, "\(String(describing: error))")
      #expect(error?.foreignData?.examples == names)
      #expect(error?.foreignData?.encodings == [encoding: names.count])
      #expect(error?.message.contains(names[0]) == true)
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.control))
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.file)) == before)
    let engine = try await fixture.open { $0.foreignData = .ignore }
    #expect(try await engine.summaries().map(\.key.string) == names)
    try await engine.close()
    let again = try await fixture.open()
    try await again.close()
  }

  @Test func valuesOfPropertyListTypesStayNormal() async throws {
    let fixture = try legacy("plain-preferences")
    let adapter = try await fixture.adapter()
    #expect(try await adapter.get("theme") == .string("dark"))
    #expect(try await adapter.get("numbers") == .data(Data("[1]".utf8)))
    try await adapter.engine.close()
  }
}
