import Coffer
import Foundation

/// Lets a program that knows nothing of Coffer change a file while two handles listen.
func editorAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let keys = shelf.keys
  let key = keys[keys.count / 3]
  let end = try StoreKey("the-end")
  let mark = #""vendor" : ""#
  guard let old = shelf.values[key].map({ String(decoding: $0, as: UTF8.self) }) else { return }
  let new = Data(old.replacingOccurrences(of: mark, with: mark + "Edited: ").utf8)

  let child = try Child(.watch, [shelf.directory.path, end.string])
  defer { child.stop() }
  guard try child.line() == "ready" else { throw DemoError("the second process did not get ready") }
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
    // What follows is the last thing that both hear: then it is certain that there was one change and not two.
    let last = UUID()
    try await SwiftVault.service(over: engine).saveData(Data(), forKey: end.string, transactionID: last)
    let heardHere = try await hearing.value
    let heardThere = try (there + child.lines().map { try Heard($0) }).map { "\($0.transaction) \($0.key)" }
    let wanted = ["- \(key)", "\(last.uuidString) \(end)"]
    let product = try await TypedStore(engine: engine).load(Product.self, for: key)
    console.line("   Heard here and in a second process, there \(took) after sed was started.")
    console.line("   It has no transaction, since sed knows nothing of Coffer. The vendor is now")
    console.line("   \"\(product?.vendor.prefix(60) ?? "-")\".")
    stage.check(heardHere == wanted, "change heard here, once, without transaction", count: heardHere.count - 1)
    stage.check(
      heardThere == wanted, "change heard there, once, without transaction", count: heardThere.count - 1)
    let isNew = try await engine.entry(key)?.value == new
    stage.check(isNew, "file read with the bytes of the editor", count: isNew ? 1 : 0)
    try await here.remove(forKey: end.string)
  }
  try stage.checkFiles()
}

/// What is heard, as "TRANSACTION KEY", up to a key.
private func untilKey(_ last: StoreKey, _ changes: AsyncStream<(key: String?, transactionID: UUID?)>) async throws
  -> [String]
{
  var heard: [String] = []
  for await (key, transaction) in changes {
    heard.append("\(transaction?.uuidString ?? "-") \(key ?? "-")")
    if key == last.string { return heard }
  }
  throw DemoError("the stream of changes has ended")
}
