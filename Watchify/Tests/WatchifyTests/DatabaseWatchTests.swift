import CofferTesting
import Foundation
import Testing

@Suite("A database that changes its file", .serialized)
struct DatabaseWatchTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test(
    "ends what has it open",
    arguments: [["watch"], ["serve", "--port", "0"]], ["mv DB DB.old", "rm DB", "cp DB DB.new && mv DB.new DB"])
  func ends(command: [String], line: String) async throws {
    try await sandbox.follow()
    let program = try sandbox.startWatchify(command, with: [])
    try await eventually("the first round") { try program.output().contains("next sync") }
    _ = try await sandbox.bash("touch DB; chmod 600 DB; \(line)".replacing("DB", with: sandbox.database))
    let ended = try await program.ended()
    #expect(ended.status == 1)
    #expect(ended.errors.contains("was replaced, moved or deleted while it was in use"), "\(ended.errors)")
  }

  @Test("A migration by a newer version ends what does not know it")
  func newer() async throws {
    try await sandbox.follow()
    let watch = try sandbox.startWatchify("watch")
    try await eventually("the first round") { try watch.output().contains("next sync") }
    try await sandbox.sql("INSERT INTO coffer_migrations (name, position) VALUES ('9 future', 99)")
    let ended = try await watch.ended()
    #expect(ended.status == 1 && ended.errors.contains("'9 future'"), "\(ended.errors)")
  }

  @Test("A page beside a watch ends as well")
  func endsThePage() async throws {
    try await sandbox.follow()
    let watch = try sandbox.startWatchify("watch")
    try await eventually("the first round") { try watch.output().contains("next sync") }
    let page = try sandbox.startWatchify("serve", "--port", "0")
    try await eventually("the page") { try page.output().contains("The page: ") }
    _ = try await sandbox.bash("mv DB DB.old".replacing("DB", with: sandbox.database))
    for program in [page, watch] { #expect(try await program.ended().status == 1) }
  }
}
