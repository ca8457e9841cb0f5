import Coffer
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Suites of `UserDefaults` are imported by their names, whatever the form of their files.
@Suite("Importing suites", .serialized, .blocking)
struct ImportSuiteTests {
  enum Form: CaseIterable { case xml, binary }

  private let fixture: PreferenceFixture

  /// Lets the printed adapter store values in a suite.
  init() throws {
    fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    let writer = try HelperProcess(
      ["preferences", fixture.suite], executable: "LegacyProgram", environment: [("XDG_CONFIG_HOME", fixture.path)])
    try #require(writer.wait() == 0)
  }

  private var file: URL { URL(fileURLWithPath: fixture.file) }

  private func convert(to form: Form) throws {
    var format = PropertyListSerialization.PropertyListFormat.binary
    let root = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), options: [], format: &format)
    #expect(format == .xml)
    switch form {
    case .xml: break
    case .binary:
      try PropertyListSerialization.data(fromPropertyList: root, format: .binary, options: 0).write(to: file)
    }
  }

  private func importValues(_ configure: (inout Import.Options) throws -> Void = { _ in }) async throws -> (
    TypedStore, Import.Report
  ) {
    var options = Import.Options()
    options.key = { $0.hasPrefix("axiom.") ? try KeyName(String($0.dropFirst(6))) : nil }
    try configure(&options)
    let engine = MemoryEngine()
    let report = try await fixture.use {
      try await engine.import(from: .userDefaults(suite: fixture.suite, encoding: .json), options: options).result()
    }
    return (TypedStore(engine: engine), report)
  }

  @Test("A suite is imported by its name", arguments: Form.allCases)
  func suites(_ form: Form) async throws {
    try convert(to: form)
    let before = try Data(contentsOf: file)
    let (store, report) = try await importValues()
    #expect(report.isComplete && report.imported == 3)
    #expect(try await store.load(String.self, for: "userName") == "John")
    #expect(try await store.load(String.self, for: "token") == Data("secret bytes".utf8).base64EncodedString())
    #expect(try Data(contentsOf: file) == before && !FileManager.default.fileExists(atPath: fixture.control))
    await #expect(throws: StorageError.self) { _ = try await importValues { $0.removesOriginals = true } }
  }

  @Test("No part of a truncated file is taken for the whole", arguments: Form.allCases)
  func truncated(_ form: Form) async throws {
    try convert(to: form)
    let whole = try Data(contentsOf: file)
    // The last line break may be missing.
    let end = whole.count - (whole.last == 0x0A ? 2 : 1)
    for count in stride(from: 0, through: end, by: form == .binary ? 1 : 7) {
      try whole.prefix(count).write(to: file)
      let error = await #expect(throws: StorageError.self, "\(count) bytes") { _ = try await importValues() }
      #expect(error?.code == .damaged, "\(count) bytes: \(String(describing: error))")
    }
  }

  @Test("Text in the old style of NeXTSTEP is refused")
  func oldStyle() async throws {
    try Data("{ a = b; }".utf8).write(to: file)
    let error = await #expect(throws: StorageError.self) { _ = try await importValues() }
    #expect(error?.code == .damaged, "\(String(describing: error))")
  }

  @Test("A suite that does not exist is not found, and a name that is none is refused")
  func missing() async throws {
    try await fixture.use {
      for (suite, code) in [("com.example.none", StorageError.Code.notFound), ("../x", .unsupported)] {
        let error = await #expect(throws: StorageError.self) {
          try await MemoryEngine().import(from: .userDefaults(suite: suite)).result()
        }
        #expect(error?.code == code)
      }
    }
  }
}
