import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite("verify", .serialized)
struct VerifyTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("An intact store")
  func good() async throws {
    try await sandbox.fill(count: 5_000)
    let ended = try await sandbox.coffer("verify")
    #expect(ended.status == 0 && ended.output.isEmpty)
    let summary = /Checked 5,000 values \(488\.3 KiB\) in \d+\.\d s: all good\.\n/
    #expect(ended.errors.wholeMatch(of: summary) != nil, "\(ended.errors)")
    let json = try await sandbox.coffer("verify", "--json")
    #expect(json.status == 0 && json.errors.isEmpty)
    let members = try json.json()
    #expect(members["checked"] as? Int == 5_000 && members["valueBytes"] as? Int == 500_000)
    #expect((members["damaged"] as? [String])?.isEmpty == true && members["structure"] as? [String] == [])
    #expect(members["failure"] is NSNull && members["interrupted"] as? Bool == false)
  }

  @Test("Damage at the beginning, in the middle, in a row and at the end is reported")
  func damagedValues() async throws {
    try await sandbox.fill(count: 600)
    let bad = ["k00001", "k00256", "k00257", "k00258", "k00400", "k00600"]
    for key in bad { try damage(key, in: sandbox) }
    let ended = try await sandbox.coffer("verify")
    #expect(ended.status == 1 && ended.lines == bad)
    #expect(ended.errors.hasPrefix("Checked 600 values (") && ended.errors.hasSuffix(" s: 6 damaged.\n"))
    let json = try await sandbox.coffer("verify", "--json").json()
    #expect(json["damaged"] as? [String] == bad && json["checked"] as? Int == 600)
    #expect(try await sandbox.bash("coffer verify -0 | xargs -0 -r coffer rm -- && coffer verify").status == 0)
  }

  @Test("A key with a line end is one key with -0 and in JSON")
  func lineEnds() async throws {
    try await sandbox.coffer("set", "a\nb", "1")
    try damage("a\nb", in: sandbox)
    #expect(try await sandbox.coffer("verify", "-0").output == Data("a\nb\0".utf8))
    #expect(try await sandbox.coffer("verify", "--json").json()["damaged"] as? [String] == ["a\nb"])
    #expect(try await sandbox.coffer("verify", "-0", "--json").status == 2)
  }

  @Test("Torn pages are distinguished from a damaged value")
  func tornValues() async throws {
    try await sandbox.fill(count: 2_000)
    try destroyPage(holding: "k01500", in: sandbox.storePath)
    let ended = try await sandbox.coffer("verify")
    #expect(ended.status == 1 && ended.output.isEmpty)
    #expect(ended.errors.contains(/coffer: The values after 'k01\d\d\d' could not be read:/), "\(ended.errors)")
    #expect(
      ended.errors.contains(/\ncoffer: Pages of the database file are damaged: \d+\./) && !ended.errors.contains("***"))
    #expect(ended.errors.contains(/\ncoffer: (Values are missing|The values do not match those)/), "\(ended.errors)")
    #expect(ended.errors.hasSuffix(", the structure of the file is damaged.\n"))
    let json = try await sandbox.coffer("verify", "--json")
    #expect(json.status == 1 && json.errors.isEmpty)
    #expect((try json.json()["failure"] as? NSDictionary)?["code"] as? String == "damaged")
    #expect((try json.json()["structure"] as? [String])?.isEmpty == false)
  }

  @Test("Damage outside of values is found")
  func tornStructure() async throws {
    try await sandbox.coffer("set", "a", "1")
    // The quarantine is a table that neither ls nor a read of values accesses.
    let page = try number("SELECT rootpage FROM sqlite_schema WHERE name = 'coffer_quarantine'", on: sandbox.storePath)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: sandbox.storePath))
    try file.seek(toOffset: UInt64(page - 1) * 4_096)
    try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
    try file.close()
    #expect(try await sandbox.coffer("ls").status == 0)
    let json = try await sandbox.coffer("verify", "--json")
    #expect(json.status == 1)
    #expect(try json.json()["failure"] is NSNull && json.json()["checked"] as? Int == 1)
    #expect((try json.json()["structure"] as? [String])?.isEmpty == false)
  }

  @Test("A signal ends the check, which reports what it has found so far")
  func interrupted() async throws {
    try await sandbox.coffer("set", "a", "1")
    try sql(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO coffer_values (key, revision, checksum, value)
      SELECT CAST(printf('k%03d', i) || hex(zeroblob(450)) AS BLOB), 1, 0, x'00' FROM n
      """, on: sandbox.storePath)
    // It has begun once it prints, and then blocks because the pipe cannot hold all keys.
    let ended = try await sandbox.bash(
      """
      mkfifo names; coffer verify > names & exec 3< names
      read -r -u 3 && kill -INT $! && cat <&3 >/dev/null; wait $!; echo $?
      """)
    #expect(ended.lines == ["130"])
    let summary = /Checked \d+ values \(1 B\) in .* s, then interrupted: \d+ damaged\.\n/
    #expect(ended.errors.wholeMatch(of: summary) != nil, "\(ended.errors)")
  }

  @Test("A memory store has no file to check")
  func memory() async throws {
    let json = try await sandbox.coffer("verify", "--store", "memory:", "--json").json()
    #expect(json["checked"] as? Int == 0 && json["structure"] is NSNull)
  }
}
