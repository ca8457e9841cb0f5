import CofferTestSupport
import Foundation
import Testing

@Suite("ls and rm")
struct ListTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func fill(_ keys: String...) async throws {
    for key in keys { try await sandbox.coffer("set", key, "value", "--relaxed") }
  }

  @Test("Keys are sorted by their bytes, also with a prefix")
  func order() async throws {
    try await fill("b", "a/2", "B", "a/1", "a", "é")
    #expect(try await sandbox.coffer("ls").lines == ["B", "a", "a/1", "a/2", "b", "é"])
    #expect(try await sandbox.coffer("ls", "a/").lines == ["a/1", "a/2"])
    #expect(try await sandbox.coffer("ls", "").lines.count == 6)
    let none = try await sandbox.coffer("ls", "zzz")
    #expect(none.status == 0 && none.output.isEmpty)
  }

  @Test("--long aligns its columns, --json gives one object per line")
  func columns() async throws {
    try await fill("a")
    try await sandbox.coffer("set", "b", "-", input: Data(count: 123_456))
    let long = try await sandbox.coffer("ls", "-l").lines
    #expect(long == ["       5 B         1  a", " 120.6 KiB         2  b"])
    let first: NSDictionary = ["key": "a", "size": 5, "revision": 1, "damaged": false]
    #expect(try await sandbox.coffer("ls", "--json").jsonLines().first == first)
  }

  @Test("A listing of several pages")
  func pages() async throws {
    try await fill("seed")
    try sql(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO coffer_values (key, revision, checksum, value)
      SELECT CAST(printf('k%04d', i) AS BLOB), 1, 0, x'00' FROM n
      """, on: sandbox.storePath)
    let list = try await sandbox.coffer("ls", "k", "--json")
    #expect(list.status == 0 && list.lines.count == 1_000)
    try sql("UPDATE coffer_values SET attributes = x'01'", on: sandbox.storePath)
    let damaged = try await sandbox.coffer("ls", "k", "--json")  // all of them: each is a page of its own
    #expect(damaged.status == 1 && damaged.lines.count == 1_000)
    let closed = try await sandbox.bash("coffer ls | head -n 1; echo ${PIPESTATUS[0]}")
    #expect(closed.lines == ["k0001  (damaged)", "0"] || closed.lines == ["k0001  (damaged)", "1"])
    #expect(closed.errors.isEmpty)
  }

  @Test("A damaged value is listed and does not stop the listing")
  func damagedValues() async throws {
    try await fill("a", "b", "c", "d")
    try sql("UPDATE coffer_values SET attributes = x'01' WHERE key IN (x'61', x'63')", on: sandbox.storePath)
    let list = try await sandbox.coffer("ls")
    #expect(list.status == 1 && list.lines == ["a  (damaged)", "b", "c  (damaged)", "d"])
    #expect(try await sandbox.coffer("ls", "-l").lines.first == "   damaged         -  a")
    let json = try await sandbox.coffer("ls", "--json").jsonLines()
    #expect(json.map { $0["damaged"] as? Bool } == [true, false, true, false])
    let info = try await sandbox.coffer("info", "--json")
    #expect(info.status == 1)
    #expect(try info.json()["damaged"] as? Int == 2)
    #expect(try await sandbox.coffer("rm", "a", "c").status == 0)
    #expect(try await sandbox.coffer("ls").lines == ["b", "d"])
  }

  @Test("No value is read: damage to its bytes is found by verify only")
  func damagedBytes() async throws {
    try await fill("a", "b")
    try damage("a", in: sandbox)
    let list = try await sandbox.coffer("ls")
    #expect(list.status == 0 && list.lines == ["a", "b"])
    #expect(try await sandbox.coffer("info", "--json").status == 0)
    #expect(try await sandbox.coffer("verify").lines == ["a"])
  }

  @Test("A value of 64 MiB is not read, only counted", arguments: ["store.db", "file:files"])
  func readsNoValues(store: String) async throws {
    try await sandbox.coffer("set", "large", "-", "--store", store, "--relaxed", input: Data(count: 64 << 20))
    func bytesRead(by command: String) async throws -> Int {
      // The bytes that a process reads are added to those of its parent once the parent has waited for it.
      let line = "coffer \(command) --store \(store) > out; status=$?; grep rchar /proc/$$/io; echo status $status"
      let ended = try await sandbox.bash("cd \(sandbox.url.path); " + line)
      #expect(ended.lines.last == "status 0", "\(ended.errors)")
      return try #require(ended.lines.first.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) })
    }
    for command in ["ls --json", "info --json", "rm --prefix l/ --yes --json", "ls --long", "rm large/2 --json"] {
      #expect(try await bytesRead(by: command) < 16 << 20, "\(command)")
    }
    #expect(try sandbox.read("out").isEmpty == false)
    #expect(try await bytesRead(by: "verify") > 64 << 20, "a canary for the measurement")
    #expect(try await sandbox.coffer("ls", "--long", "--store", store).lines == ["  64.0 MiB         1  large"])
  }

  @Test("rm removes several keys in one commit; missing ones are no error")
  func remove() async throws {
    try await fill("a", "b", "c")
    let plain = try await sandbox.coffer("rm", "a", "nope")
    #expect(plain.status == 0 && plain.output.isEmpty && plain.errors.isEmpty)
    let json = try await sandbox.coffer("rm", "b", "nope", "c", "b", "--json").json()
    #expect(json["removed"] as? [String] == ["b", "c"])
    #expect(json["missing"] as? [String] == ["nope"])
    #expect(json["revision"] as? Int == 5)
    #expect(try await sandbox.coffer("ls").output.isEmpty)
  }

  @Test("rm --prefix requires confirmation")
  func removePrefix() async throws {
    try await fill("tmp/a", "tmp/b", "tmq")
    let refused = try await sandbox.coffer("rm", "--prefix", "tmp/")
    #expect(refused.status == 2)
    #expect(try await sandbox.coffer("ls").lines.count == 3)
    let json = try await sandbox.coffer("rm", "--prefix", "tmp/", "--yes", "--json").json()
    #expect(json["removed"] as? Int == 2 && json["prefix"] as? String == "tmp/")
    #expect(try await sandbox.coffer("ls").lines == ["tmq"])
  }

  @Test("A damaged value can be removed, and --json lists it as removed")
  func removeDamaged() async throws {
    try await fill("a")
    try damage("a", in: sandbox)
    #expect(try await sandbox.coffer("rm", "a", "--json").json()["removed"] as? [String] == ["a"])
    #expect(try await sandbox.coffer("ls").status == 0)
  }
}
