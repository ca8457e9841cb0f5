import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct ExpiryCommandTests {
  @Test func anExpiredValueIsAbsentForEveryCommand() async throws {
    let sandbox = try Sandbox()
    try await sandbox.coffer("set", "old", "1", "--expires", "2001-09-09T01:46:40Z")
    #expect(try await sandbox.coffer("get", "old").status == 3)
    try await sandbox.coffer("set", "new", "2", "--expires", "7d")
    try await sandbox.coffer("set", "dated", "3", "--expires", "2286-11-20")
    try await sandbox.coffer("set", "east", "4", "--expires", "2286-11-20T02:30:00.5+02:30")
    #expect(try await sandbox.coffer("get", "east", "--json").text.contains(#""expires":"2286-11-20T00:00:00.500Z""#))
    try await sandbox.coffer("rm", "east")
    #expect(try await sandbox.coffer("get", "old").status == 3)
    #expect(try await sandbox.coffer("ls").text == "dated\nnew\n")
    let listing = try await sandbox.coffer("ls", "--json", "dated").text
    #expect(listing.contains(#""damaged":false,"expires":"2286-11-20T00:00:00.000Z"}"#), "\(listing)")
    #expect(try await sandbox.coffer("get", "new", "--json").text.contains(#""expires":""#))
    #expect(try await sandbox.coffer("info", "--json").text.contains(#""expiring":2"#))
    #expect(try await sandbox.coffer("info").text.contains("Expiring  2 values"))
    try await sandbox.coffer("set", "old", "4")
    #expect(try await sandbox.coffer("get", "old").text == "4")
  }

  @Test(arguments: [
    "", "soon", "5", "5y", "-5m", "2026-13-01", "2026-02-30", "2026-02-28T25:00:00Z", "2026-02-28T09:00:00+99:99",
    "2026-02-28T09:00:00", "2026-02-28 ", "2026-02-28T09:00:00+14:30",
  ]) func otherTimesAreRefused(_ text: String) async throws {
    let sandbox = try Sandbox()
    let result = try await sandbox.coffer("set", "a", "1", "--expires", text)
    #expect(result.status == 2 && result.errors.contains("--expires"), "\(result.errors)")
    #expect(!sandbox.exists("store.db"))
  }

  // Requirement 5.1
  @Test(.timeLimit(.minutes(2))) func aStreamDeliversTheExpiryThatAnotherProcessHasSet() async throws {
    let sandbox = try Sandbox()
    let engine = try await SQLiteEngine.open(at: sandbox.storePath)
    let store = TypedStore(engine: engine)
    var values = try store.values(of: "token", as: String.self).makeAsyncIterator()
    #expect(try await values.next()?.get() == .some(nil))
    try await sandbox.coffer("set", "token", "v", "--expires", "3s")
    #expect(try await values.next()?.get() == .some("v"))
    #expect(store.cached(String.self, for: "token") == "v")
    #expect(try await values.next()?.get() == .some(nil), "no commit tells it, but the clock")
    #expect(store.cached(String.self, for: "token") == nil)
    #expect(try await sandbox.coffer("get", "token").status == 3)
    try await engine.close()
  }

  @Test func storesOfFilesExpireToo() async throws {
    let sandbox = try Sandbox()
    let store = "file:" + sandbox.path("files")
    let date = (Date() - 600).formatted(.iso8601)  // expired, but too recently to be swept
    try await sandbox.coffer("set", "old", "1", "--expires", date, "--store", store)
    #expect(try await sandbox.coffer("get", "old", "--store", store).status == 3)
    #expect(try sandbox.read("files/old") == Data("1".utf8), "its file is removed later")
  }
}
