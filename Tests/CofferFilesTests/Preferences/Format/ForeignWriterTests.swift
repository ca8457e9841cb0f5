import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Property lists that Python's `plistlib` has written.
@Suite(.blocking, .serialized) struct ForeignWriterTests {
  /// The preferences that the script writes, with one list and one dictionary that occur several times.
  private static let preferences = """
    import codecs, datetime, plistlib, sys
    none, window = [], {"width": 640, "title": "Fenster \\u00fc"}
    value = {
        "recent": none, "pinned": none, "tabs": [{"open": none}, {"open": none}, window, window], "window": window,
        "theme": "dark", "large": 2**63 + 5, "small": -2**63, "ratio": 1e22, "bytes": b"\\x00\\xff",
        "when": datetime.datetime(2024, 1, 2, 3, 4, 5), "isNew": True,
    }
    """

  private static let expected: [String: PreferenceValue] = {
    let window: PreferenceValue = ["width": 640, "title": "Fenster ü"]
    return [
      "recent": [], "pinned": [], "tabs": [["open": []], ["open": []], window, window], "window": window,
      "theme": "dark", "large": .unsigned(1 << 63 + 5), "small": .integer(.min), "ratio": 1e22,
      "bytes": .data(Data([0, 0xFF])), "when": .date(Date(timeIntervalSince1970: 1_704_164_645)), "isNew": true,
    ]
  }()

  /// Runs a script, which writes what it is to write to `sys.stdout.buffer`.
  private func python(_ script: String) async throws -> Data {
    let folder = try TemporaryDirectory()
    let list = folder.url.appendingPathComponent("list")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", script + "\nopen(sys.argv[1], 'wb').write(file)", list.path]
    let ended = try await RunningProgram(process, in: folder.url).ended()
    #expect(ended.status == 0, "\(ended.errors)")
    return try Data(contentsOf: list)
  }

  private func read(_ fixture: PreferenceFixture) async throws -> [String: PreferenceValue] {
    let adapter = try await fixture.adapter()
    var values: [String: PreferenceValue] = [:]
    for key in try await adapter.keys() { values[key] = try await adapter.get(key) }
    try await adapter.engine.close()
    return values
  }

  /// A suite that Coffer has written once, so that a damaged file would be served from its copy.
  private func suite(of file: Data) async throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await adapter.set("light", for: "theme")
    try await adapter.engine.close()
    try overwrite(fixture.file, file)
    return fixture
  }

  @Test(arguments: [
    "file = plistlib.dumps(value, fmt=plistlib.FMT_BINARY)",
    "file = plistlib.dumps(value)",
    "file = codecs.BOM_UTF8 + plistlib.dumps(value)",
    "file = codecs.BOM_UTF16_LE + plistlib.dumps(value).decode().replace('UTF-8', 'UTF-16').encode('utf-16-le')",
    "file = codecs.BOM_UTF16_BE + plistlib.dumps(value).decode().replace('UTF-8', 'UTF-16').encode('utf-16-be')",
    "file = plistlib.dumps(value).decode().replace('UTF-8', 'UTF-16').encode('utf-16-le')",
    "file = plistlib.dumps(value).decode().replace('UTF-8', 'utf-16').encode('utf-16-be')",
    "file = plistlib.dumps(value).decode().split('\\n', 1)[1].encode('utf-16-le')",
    "file = plistlib.dumps(value).decode().encode('utf-16')",
    "file = plistlib.dumps(value).decode().replace('UTF-8', 'ISO-8859-1').encode('iso-8859-1')",
  ])
  func everyValueIsReadAndKept(_ script: String) async throws {
    let fixture = try await suite(of: await python(Self.preferences + "\n" + script))
    #expect(try await read(fixture) == Self.expected)
    let adapter = try await fixture.adapter()
    try await adapter.set(7, for: "ours")
    try await adapter.engine.close()
    #expect(try await read(fixture) == Self.expected.merging(["ours": 7]) { $1 })
    #expect(try fixture.names(in: "quarantine").isEmpty)
  }

  /// A list of 512 texts that 400 names refer to: 204,800 values in some 10 KiB.
  @Test func manyReferencesAreNoDamage() async throws {
    let script = """
      import plistlib, sys
      shared = ["x"] * 512
      file = plistlib.dumps({"n%d" % n: shared for n in range(400)}, fmt=plistlib.FMT_BINARY)
      """
    let fixture = try await suite(of: await python(script))
    let values = try await read(fixture)
    #expect(values.count == 400 && values.values.allSatisfy { $0.array?.count == 512 })
  }

  /// A file that would expand without end is not taken for a damaged one, which the next write would replace.
  @Test(arguments: [
    "value = ['x']\nfor _ in range(60): value = [value, value]",
    "value = 'x' * 1000000\nfor _ in range(10): value = [value, value]",
  ])
  func anEndlessExpansionIsRefusedAndKept(_ script: String) async throws {
    let file = try await python(
      "import plistlib, sys\n\(script)\nfile = plistlib.dumps({'a': value}, fmt=plistlib.FMT_BINARY)")
    let fixture = try await suite(of: file)
    await #expect { try await fixture.open() } throws: { ($0 as? StorageError)?.code == .valueTooLarge }
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.file)) == file)
  }

  @Test func aListInItselfIsDamage() async throws {
    let script = """
      import plistlib, sys
      value = []
      value.append(value)
      file = plistlib.dumps({"a": value}, fmt=plistlib.FMT_BINARY)
      """
    let fixture = try await suite(of: await python(script))
    #expect(try await read(fixture) == ["theme": "light"])
    #expect(try fixture.names(in: "quarantine").count == 1)
  }
}
