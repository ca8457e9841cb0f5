import CofferFiles
import CofferTerminal
import CofferVault
import Foundation

/// Saves products as files, changes one of them with a program that does not use Coffer, and deletes the journal.
func filesAct(_ stage: Stage) async throws {
  let directory = stage.folder.appendingPathComponent("products")
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
  let codec = JSONCodec(encoder: encoder, decoder: JSONDecoder())
  let products = Array(stage.products.prefix(200))
  func key(_ number: Int) throws -> KeyName { try KeyName("mat-\(number).json") }

  try await closing(try await SlotEngine.files(in: directory)) { engine in
    let store = TypedStore(engine: engine, codec: codec)
    try await store.saveAll(products.indices.map { (try key($0), products[$0]) })
    let readable = try products.indices.filter { number in
      let file = directory.appendingPathComponent(try key(number).string)
      return try JSONDecoder().decode(Product.self, from: Data(contentsOf: file)) == products[number]
    }
    try stage.check(readable.count == products.count, readable.count, "files, each read without Coffer")

    var changes = SwiftVault.service(over: engine).externalChanges.makeAsyncIterator()
    let command = #"sed 's/"vendor" : "/&Edited: /' mat-7.json >../new && mv ../new mat-7.json"#
    try stage.say("$ " + command)
    _ = try shell(command, in: directory)
    let change = await changes.next()
    let vendor = try await store.load(Product.self, for: key(7))?.vendor
    let isReceived = change?.key == "mat-7.json" && vendor == "Edited: " + products[7].vendor
    try stage.check(isReceived, isReceived ? 1 : 0, "change by an editor received and read")
  }

  try stage.say("$ rm .coffer/journal.db*")
  _ = try shell("rm .coffer/journal.db*", in: directory)
  try await closing(try await SlotEngine.files(in: directory)) { engine in
    let found = try await TypedStore(engine: engine, codec: codec)
      .loadAll(Product.self, keys: products.indices.map(key))
    let equal = zip(products, found).filter { $0.title == $1?.title }.count
    try stage.check(equal == products.count, equal, "files read after the journal was rebuilt from them")
  }
}
