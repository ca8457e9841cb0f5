import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct QuarantineCommandTests {
  // Requirements 0.32, 5.2
  @Test func damagedBytesAreListedShownRestoredAndRemoved() async throws {
    let sandbox = try Sandbox()
    try await sandbox.coffer("set", "theme", "dark")
    try damage("theme", in: sandbox)
    #expect(try await sandbox.coffer("quarantine", "list").text.isEmpty)
    #expect(try await sandbox.coffer("get", "theme").status == 1)
    let line = try await sandbox.coffer("quarantine", "list").text
    #expect(line.hasSuffix("  2 B  damagedValue  theme\n"), "\(line)")
    let id = String(try #require(line.split(separator: " ").first))
    let json = try await sandbox.coffer("quarantine", "list", "--json").text
    #expect(json.hasPrefix(#"{"id":"\#(id)","key":"theme","date":""#), "\(json)")
    #expect(try await sandbox.bash("coffer quarantine show \(id) | od -An -tx1").text == " 00 ff\n")
    #expect(try await sandbox.coffer("quarantine", "show", id, "--json").text.contains(#""base64":"AP8=""#))
    #expect(try await sandbox.coffer("quarantine", "show", "9-9").status == 3)
    #expect(try await sandbox.coffer("quarantine", "restore", id).status == 2, "the key must be named")
    #expect(try await sandbox.coffer("quarantine", "restore", id, "theme").status == 0)
    #expect(try await sandbox.bash("coffer get theme | od -An -tx1").text == " 00 ff\n")
    #expect(try await sandbox.coffer("quarantine", "empty").status == 2, "it does not ask without a terminal")
    #expect(try await sandbox.coffer("quarantine", "empty", "9-9").status == 3)
    let removed = try await sandbox.coffer("quarantine", "empty", "--yes", "--json").text
    #expect(removed == #"{"removed":["\#(id)"]}"# + "\n")
    #expect(try await sandbox.coffer("quarantine", "list").text.isEmpty)
  }

  @Test func theBytesOfAnEncryptedStoreAreListedAndRemovedWithoutItsKey() async throws {
    let sandbox = try Sandbox()
    let key = try sandbox.makeKey()
    try await sandbox.coffer("set", "theme", "dark", "--store", "encrypted:store.db", "--key-file", key)
    try damage("theme", in: sandbox)
    #expect(try await sandbox.coffer("get", "theme", "--key-file", key).status == 1)
    let listed = try await sandbox.coffer("quarantine", "list", environment: neverAsk)
    #expect(listed.status == 0 && listed.text.contains("damagedValue  theme"), "\(listed.errors)")
    let id = String(try #require(listed.text.split(separator: " ").first))
    #expect(try await sandbox.coffer("quarantine", "show", id, environment: neverAsk).status == 1)
    // Nor a key ring.
    try sql("UPDATE coffer_records SET value = x'00'", on: sandbox.storePath)
    let removed = try await sandbox.coffer("quarantine", "empty", "--yes", environment: neverAsk)
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(try await sandbox.coffer("quarantine", "list", environment: neverAsk).text.isEmpty)
  }

  // Requirement 5.2
  @Test func aDamagedFileOfAStoreOfFilesKeepsItsKey() async throws {
    let sandbox = try Sandbox()
    let store = "file:" + sandbox.path("files")
    try await sandbox.coffer("set", "theme", "dark", "--store", store)
    // The bytes change, and the modification time does not, as on a failing disk.
    try await sandbox.bash("touch -r files/theme t && printf DARK > files/theme && touch -r t files/theme")
    #expect(try await sandbox.coffer("get", "theme", "--store", store).status == 1)
    let line = try await sandbox.coffer("quarantine", "list", "--store", store).text
    #expect(line.hasSuffix("  4 B  damagedValue  theme\n"), "\(line)")
    let id = String(try #require(line.split(separator: " ").first))
    #expect(try await sandbox.coffer("quarantine", "show", id, "--store", store).text == "DARK")
    #expect(try await sandbox.coffer("quarantine", "show", "../theme", "--store", store).status == 3)
    #expect(try await sandbox.coffer("quarantine", "empty", id, "--store", store).status == 0)
    #expect(try await sandbox.coffer("quarantine", "list", "--store", store).text.isEmpty)
  }

  // Requirement 5.2
  @Test func aSealedStoreShowsNothingWithoutItsPassphrase() async throws {
    let sandbox = try Sandbox()
    try sandbox.makePassphrase("pass", "correct horse")
    let options = "--store sealed:s.sealed --passphrase-file pass"
    try await sandbox.bash("printf hunter2 | coffer set token - \(options)")
    try await sandbox.bash("printf xxxx | dd of=s.sealed bs=1 seek=200 conv=notrunc")
    _ = try await sandbox.bash("coffer get token \(options)")
    let listed = try await sandbox.bash("coffer quarantine list \(options)")
    #expect(listed.text.contains("damagedFile"), "\(listed)")
    let id = String(try #require(listed.text.split(separator: " ").first))
    let shown = try await sandbox.bash("coffer quarantine show \(id) \(options) | base64")
    #expect(shown.status == 0 && !shown.text.isEmpty)
    #expect(try await sandbox.bash("coffer quarantine show \(id) \(options) | grep -c hunter2").text == "0\n")
    #expect(try await sandbox.bash("coffer quarantine restore \(id) token \(options)").status == 1)
    #expect(try await sandbox.bash("coffer quarantine list --store sealed:s.sealed").status != 0)
  }
}
