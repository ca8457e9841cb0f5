import CofferTestSupport
import Foundation
import Testing

/// Tests of the progress line. `script` provides a terminal.
@Suite(
  "Progress on a terminal", .serialized,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
struct ProgressTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Returns the lines on the screen after all output.
  private func screen(_ text: String) -> [String] {
    var lines: [[Character]] = [[]]
    var column = 0
    // Scalars are used because a carriage return with a line feed is a single Character.
    for scalar in text.replacing(/\u{1B}\[\d*m/, with: "").unicodeScalars {
      switch scalar {
      case "\r": column = 0
      case "\n": lines.append([])
      default:
        if column < lines[lines.count - 1].count {
          lines[lines.count - 1][column] = Character(scalar)
        } else {
          lines[lines.count - 1].append(Character(scalar))
        }
        column += 1
      }
    }
    return lines.map { String($0).replacing(/[ ]+$/, with: "") }.filter { !$0.isEmpty }
  }

  /// Returns every state of the progress line, without colours.
  private func drawn(_ text: String) -> [String] {
    text.replacing(/\u{1B}\[\d*m/, with: "").split(separator: "\r").map(String.init)
      .filter { $0.hasPrefix("Copying:") || $0.hasPrefix("Checking") }
  }

  @Test("cp draws one line, at a limited rate, and erases it")
  func copy() async throws {
    try await sandbox.fill(count: 20_000)
    let start = ContinuousClock.now
    let ended = try await sandbox.terminal("coffer cp store.db to.db")
    let tenths = (ContinuousClock.now - start) / .milliseconds(100)
    let lines = drawn(ended.text)
    #expect(!lines.isEmpty && Double(lines.count) <= tenths + 1)
    let shape = /Copying: [\d,]+ values?, [\d.]+ (B|KiB|MiB), [\d.]+ (B|KiB|MiB|GiB)\/s */
    #expect(lines.allSatisfy { $0.wholeMatch(of: shape) != nil }, "\(lines)")
    let left = screen(ended.text)
    #expect(left.count == 1 && left.first?.hasPrefix("Copied 20,000 values (1.9 MiB) in ") == true, "\(left)")
    #expect(ended.text.contains("\u{1B}[2mCopying:"))
  }

  @Test("verify draws the line without disturbing the keys on standard output")
  func verify() async throws {
    try await sandbox.fill(count: 3_000)
    for key in ["k00300", "k02000"] { try damage(key, in: sandbox) }
    let ended = try await sandbox.terminal("coffer verify", environment: [(name: "NO_COLOR", value: "1")])
    #expect(ended.status == 1 && !drawn(ended.text).isEmpty && !ended.text.contains("\u{1B}"))
    let left = screen(ended.text)
    #expect(left.count == 3 && left.prefix(2) == ["k00300", "k02000"] && left.last?.hasSuffix(": 2 damaged.") == true)
    let json = try await sandbox.terminal("coffer verify --json")
    #expect(screen(json.text).count == 1 && screen(json.text).first?.hasPrefix("{") == true)
  }

  @Test("There is no progress line in a pipe, in a file, or on a dumb terminal")
  func elsewhere() async throws {
    try await sandbox.fill(count: 3_000)
    let piped = try await sandbox.terminal("coffer cp store.db a.db 2>&1 | cat; coffer verify 2>&1 | cat")
    #expect(!piped.text.contains("Copying:") && !piped.text.contains("Checking") && piped.lines.count == 2)
    let dumb = try await sandbox.terminal("coffer cp store.db b.db", environment: [(name: "TERM", value: "dumb")])
    #expect(dumb.lines.count == 1 && dumb.text.hasPrefix("Copied 3,000"))
  }
}
