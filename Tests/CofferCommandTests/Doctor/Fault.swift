import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

/// A fault, and the doctor's finding for it, word for word.
struct Fault: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// The stores to check.
  let stores: [String]
  let environment: [(name: String, value: String?)]
  let options: [String]
  /// The command that runs the doctor.
  let program: String
  /// Injects the fault. The result is kept alive until the doctor has ended; `nil` if this user cannot inject it.
  let inject: @Sendable (Sandbox) async throws -> (any Sendable)?
  let verdict: String
  let subject: String
  let message: String
  let fix: String

  init(
    _ name: String, of stores: [String] = [], options: [String] = [], by program: String = "coffer",
    environment: [(name: String, value: String?)] = [], _ verdict: String, _ subject: String, _ message: String,
    fix: String = "", inject: @escaping @Sendable (Sandbox) async throws -> (any Sendable)? = { _ in true }
  ) {
    testDescription = name
    self.stores = stores
    self.options = options
    self.program = program
    self.environment = environment
    (self.verdict, self.subject, self.message, self.fix) = (verdict, subject, message, fix)
    self.inject = inject
  }

  /// Runs the doctor with text and JSON output, compares the finding, and checks that no file has changed.
  func check(in sandbox: Sandbox, with surroundings: [(name: String, value: String?)] = []) async throws {
    let root = sandbox.url.path
    func here(_ text: String) -> String { text.replacing("ROOT", with: root) }
    let held = try await inject(sandbox)
    guard let held else { return print("Not checked: \(testDescription), which this user cannot bring about.") }
    let words = ["doctor"] + (options + stores).map { "'\(here($0))'" }
    let line = "cd home && \(program) \(words.joined(separator: " "))"
    let variables = surroundings + environment.map { (name: $0.name, value: $0.value.map(here)) }
    let before = try listing(of: root + "/home")
    let text = try await sandbox.bash(line, environment: variables)
    let json = try await sandbox.bash(line + " --json", environment: variables)
    #expect(try listing(of: root + "/home") == before)
    withExtendedLifetime(held) {}
    let mark = ["ok": "ok     ", "warning": "warning", "problem": "PROBLEM"][verdict] ?? ""
    let expected =
      verdict == "ok"
      ? [here("ok " + subject + " " + message)]
      : [here("\(mark)  \(subject)"), here("         \(message)")]
        + (fix.isEmpty ? [] : [here("         To do: \(fix)")])
    // The width of the column of an ok line depends on the other lines.
    let shown = text.lines.map { verdict == "ok" ? $0.replacing(/[ ]{2,}/, with: " ") : $0 }
    #expect(shown.indices.contains { shown[$0...].starts(with: expected) }, "\(expected)\n\(text.text)\(text.errors)")
    #expect(text.status == (verdict == "problem" ? 1 : 0) && json.status == text.status, "\(text.text)\(text.errors)")
    let findings = try #require(json.json()["findings"] as? [NSDictionary])
    #expect(
      findings.contains {
        $0["verdict"] as? String == verdict && $0["subject"] as? String == here(subject)
          && $0["message"] as? String == here(message) && $0["fix"] as? String ?? "" == here(fix)
      }, "\(json.text)")
    for secret in ["s3cret", "open sesame", "guess"] {
      #expect(!text.text.contains(secret) && !json.text.contains(secret) && !text.errors.contains(secret))
    }
  }
}

/// Returns every file below a folder with its permissions and bytes.
private func listing(of folder: String) throws -> [String] {
  let paths = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
  return paths.map { path in
    var status = stat()
    lstat(folder + "/" + path, &status)
    let bytes = status.st_mode & S_IFMT == S_IFREG ? FileManager.default.contents(atPath: folder + "/" + path) : nil
    // SQLite rebuilds the index of its log at each open, and the wake-up file records whether the store is open.
    let content = path.hasSuffix("-shm") || path.hasSuffix("-wake") ? "" : (bytes?.base64EncodedString() ?? "")
    return "\(path) \(String(status.st_mode, radix: 8)) \(status.st_size) \(content)"
  }
}

extension Sandbox {
  /// Runs a shell command as a preparation, which must succeed.
  @discardableResult
  func prepare(_ line: String) async throws -> Bool {
    let ended = try await bash("set -e; cd home; \(line)", environment: Self.doctorsHome(url.path))
    try #require(ended.status == 0, "\(ended.errors)")
    return true
  }

  static func doctorsHome(_ root: String) -> [(name: String, value: String?)] {
    [(name: "HOME", value: root + "/home"), (name: "COFFER_STORE", value: nil)]
  }
}
