import CofferTestSupport
import Foundation
import Testing

@Suite("set and get")
struct ValueTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A value is returned byte for byte, and set prints nothing")
  func roundTrip() async throws {
    let set = try await sandbox.coffer("set", "theme", "dark")
    #expect(set.status == 0 && set.output.isEmpty && set.errors.isEmpty)
    let get = try await sandbox.coffer("get", "theme")
    #expect(get.status == 0 && get.text == "dark" && get.errors.isEmpty)
  }

  @Test("Pipes and files preserve every byte", arguments: ["", "\n", "a\n\n"])
  func binary(_ end: String) async throws {
    let value = Data((0...255).map { UInt8($0) }) + Data(repeating: 0, count: 200_000) + Data(end.utf8)
    try sandbox.write(value, to: "in")
    #expect(try await sandbox.bash("cat in | coffer set piped - && coffer get piped | cat > piped").status == 0)
    #expect(try sandbox.read("piped") == value)
    #expect(try await sandbox.bash("coffer set file --file in && coffer get file > file").status == 0)
    #expect(try sandbox.read("file") == value)
    #expect(try await sandbox.bash("coffer set redirected < in && coffer get redirected > redirected").status == 0)
    #expect(try sandbox.read("redirected") == value)
    let json = try await sandbox.coffer("get", "piped", "--json").json()
    #expect(Data(base64Encoded: json["base64"] as? String ?? "") == value)
    #expect(json["text"] == nil && json["size"] as? Int == value.count)
  }

  @Test("An empty value is a value")
  func empty() async throws {
    try await sandbox.coffer("set", "a", "")
    try await sandbox.coffer("set", "b", "-", input: Data())
    for key in ["a", "b"] {
      let get = try await sandbox.coffer("get", key)
      #expect(get.status == 0 && get.output.isEmpty)
    }
  }

  @Test("A value may be invalid UTF-8; such a key is refused")
  func notUnicode() async throws {
    let line = #"coffer set k "$(printf 'a\377b')" && coffer get k"#
    #expect(try await sandbox.bash(line).output == Data([0x61, 0xFF, 0x62]))
    let key = try await sandbox.bash(#"coffer set "$(printf 'k\377')" v"#)
    #expect(key.status == 2 && key.errors == "coffer: The KEY is not valid UTF-8. Try 'coffer help set'.\n")
  }

  @Test("After --, a dash has no special meaning")
  func dashes() async throws {
    for arguments in [["--", "-x", "1"], ["--", "--json", "2"], ["--", "-", "-"], ["--", "--", "4"]] {
      #expect(try await sandbox.bash("coffer set " + arguments.joined(separator: " ")).status == 0)
    }
    #expect(try await sandbox.coffer("get", "--", "-x").text == "1")
    #expect(try await sandbox.coffer("get", "--", "--json").text == "2")
    #expect(try await sandbox.coffer("get", "-").text == "-")
    #expect(try await sandbox.coffer("ls").lines == ["-", "--", "--json", "-x"])
  }

  @Test("Unusual keys are valid, and Unicode forms are distinct")
  func strangeKeys() async throws {
    let keys = ["🦊", "new\nline", "\u{E9}", "e\u{301}", "../x", "a b", "'\"$(x)", "\u{1B}[31m", "CON"]
    for (index, key) in keys.enumerated() { try await sandbox.coffer("set", key, "\(index)") }
    for (index, key) in keys.enumerated() { #expect(try await sandbox.coffer("get", key).text == "\(index)") }
    let listed = try await sandbox.coffer("ls", "-0").output.split(separator: 0).map(Array.init)
    #expect(listed == keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test("An absent key is status 3 with one line")
  func absent() async throws {
    try await sandbox.coffer("set", "a", "1")
    let get = try await sandbox.coffer("get", "nope\n")
    #expect(get.status == 3 && get.output.isEmpty)
    #expect(get.errors == "coffer: There is no key 'nope\\n' in sqlite:\(sandbox.storePath).\n")
    let error = try await sandbox.coffer("get", "nope", "--json").errorJSON()
    #expect(error["code"] as? String == "notFound" && error["key"] as? String == "nope")
    #expect(error["store"] as? String == "sqlite:\(sandbox.storePath)")
    #expect(error["message"] != nil && error["advice"] != nil)
  }

  @Test("set prints revision and transaction as JSON; get prints the revision")
  func json() async throws {
    let set = try await sandbox.coffer("--json", "set", "a", "é", "--relaxed").json()
    #expect(set["revision"] as? Int == 1)
    #expect(UUID(uuidString: set["transaction"] as? String ?? "") != nil)
    let get = try await sandbox.coffer("get", "a", "--json").json()
    let expected: NSDictionary = ["key": "a", "size": 2, "revision": 1, "base64": "w6k=", "text": "é"]
    #expect(get == expected)
  }

  @Test("Two processes that set concurrently both succeed")
  func concurrently() async throws {
    @Sendable func write(_ name: String) async throws -> Int32 {
      try await sandbox.bash("for i in $(seq 20); do coffer set \(name)/$i $i || exit 1; done").status
    }
    async let left = write("left")
    async let right = write("right")
    let statuses = try await [left, right]
    #expect(statuses == [0, 0])
    #expect(try await sandbox.coffer("ls").lines.count == 40)
  }

  @Test("A damaged value is an error, not an absent key")
  func damagedValue() async throws {
    try await sandbox.coffer("set", "a", "1")
    try damage("a", in: sandbox)
    let get = try await sandbox.coffer("get", "a", "--json")
    #expect(get.status == 1 && get.output.isEmpty)
    #expect(try get.errorJSON()["code"] as? String == "damaged")
  }

  @Test("A full device and an unreadable file are reported")
  func failures() async throws {
    try await sandbox.coffer("set", "a", "1")
    let full = try await sandbox.bash("coffer get a > /dev/full")
    #expect(full.status == 1 && full.errors == "coffer: The output could not be written: No space left on device.\n")
    let closed = try await sandbox.bash("coffer get a >&-; s=$?; coffer set b 2 <&- >&- 2>&- && coffer get a; exit $s")
    #expect(closed.status == 1 && closed.text == "1" && closed.errors.contains("Bad file descriptor"))
    let missing = try await sandbox.coffer("set", "b", "--file", "nope")
    #expect(missing.status == 1)
    #expect(
      missing.errors == "coffer: The file 'nope' could not be read: No such file or directory. Nothing was written.\n")
    #expect(try await sandbox.coffer("set", "b", "--file", ".").status == 1)
  }

  @Test("A file that the store cannot take is refused before it is read", arguments: ["--file big", "< big"])
  func tooLarge(_ source: String) async throws {
    try await sandbox.coffer("set", "a", "1")
    let limit = try #require(try await sandbox.coffer("info", "--json").json()["maximumValueSize"] as? Int)
    let ended = try await sandbox.bash("truncate -s \(limit + 1) big; coffer set a \(source) --json")
    #expect(ended.status == 1)
    let error = try ended.errorJSON()
    let digits = (error["message"] as? String)?.filter(\.isNumber)
    #expect(error["code"] as? String == "valueTooLarge" && digits == "\(limit)")
    #expect(try await sandbox.coffer("get", "a").text == "1")
  }
}
