import CofferVault
import Foundation

/// Changes a file with a program that does not use Coffer while two handles watch.
func editorAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let keys = shelf.keys
  let key = keys[keys.count / 3]
  let end = KeyName("the-end")
  let mark = #""vendor" : ""#
  guard let old = shelf.values[key].map({ String(decoding: $0, as: UTF8.self) }) else { return }
  let new = Data(old.replacingOccurrences(of: mark, with: mark + "Edited: ").utf8)

  let child = try Child(.watch, [shelf.directory.path, end.string])
  defer { child.stop() }
  guard try child.line() == "ready" else { throw DemoError("the second process did not become ready") }
  try await shelf.withEngine { engine in
    let here = SwiftVault.service(over: engine)
    let changes = here.externalChanges
    let command = #"sed 's/"vendor" : "/&Edited: /' "$f" > ../edited && mv ../edited "$f""#
    console.shell("f=\(Shelf.name(key))")
    console.shell(command)
    let start = monotonicNanoseconds()
    _ = try shell(command, in: shelf.directory, file: Shelf.name(key))
    shelf.expect(new, for: key)
    let hearing = Task { try await within(.seconds(10), "the change") { try await untilKey(end, changes) } }
    let there = try child.line().map { [try Heard($0)] } ?? []
    let took = there.first.map { duration(Double($0.time - start) / 1e9) } ?? "?"
    // A final commit that both receive proves that the edit was delivered once and not twice.
    let last = UUID()
    try await SwiftVault.service(over: engine).saveData(Data(), forKey: end.string, transactionID: last)
    let heardHere = try await hearing.value
    let heardThere = try (there + child.lines().map { try Heard($0) }).map { "\($0.transaction) \($0.key)" }
    let wanted = ["- \(key)", "\(last.uuidString) \(end)"]
    let product = try await TypedStore(engine: engine).load(Product.self, for: key)
    console.line("   Received here and in a second process, there \(took) after sed was started.")
    console.line("   It has no transaction, since sed does not use Coffer. The vendor is now")
    console.line("   \"\(product?.vendor.prefix(60) ?? "-")\".")
    stage.check(heardHere == wanted, "change received here, once, untagged", count: heardHere.count - 1)
    stage.check(heardThere == wanted, "change received there, once, untagged", count: heardThere.count - 1)
    let isNew = try await engine.entry(key)?.value == new
    stage.check(isNew, "file read with the bytes of the editor", count: isNew ? 1 : 0)
    try await here.remove(forKey: end.string)
  }
  try stage.checkFiles()
}

/// Returns the received changes up to that of `last`, each as "TRANSACTION KEY".
private func untilKey(_ last: KeyName, _ changes: AsyncStream<(key: String?, transactionID: UUID?)>) async throws
  -> [String]
{
  var heard: [String] = []
  for await (key, transaction) in changes {
    heard.append("\(transaction?.uuidString ?? "-") \(key ?? "-")")
    if key == last.string { return heard }
  }
  throw DemoError("the stream of changes has ended")
}
