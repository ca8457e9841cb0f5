import Coffer
import Foundation

/// Saves products as files and reads the files with other programs.
func fileSaveAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let items = try Shelf.items(stage.catalogue)
  let writers = min(64, items.count)
  let start = monotonicNanoseconds()
  try await shelf.withEngine { engine in
    console.progress("saving \(counted(items.count, "file"))")
    let store = TypedStore(engine: engine, codec: Shelf.codec)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for index in stride(from: writer, to: items.count, by: writers) {
            try await store.save(items[index].product, for: items[index].key)
          }
        }
      }
      try await group.waitForAll()
    }
  }
  let took = seconds(since: start)
  for item in items { shelf.expect(try Shelf.codec.encode(item.product), for: item.key) }
  let which = items.count < stage.catalogue.items.count ? "The first \(grouped(items.count)) of the" : "The same"
  console.line("   \(which) products, each saved on its own, by \(writers) writers at once:")
  console.line(
    "   \(duration(took)), or \(duration(took / Double(max(1, items.count)))) each. What other programs see:")
  let list = "ls | tail -n 3"
  console.shell(list, try shell(list, in: shelf.directory))
  let total = "ls | wc -l"
  console.shell(total, try shell(total, in: shelf.directory).trimmingCharacters(in: .whitespaces))
  let example = shelf.keys.last { Shelf.name($0).count < 50 } ?? items[0].key
  let name = Shelf.name(example)
  console.shell("head -n 4 \(name)", try shell(#"head -n 4 "$f""#, in: shelf.directory, file: name))

  stage.summary.files = shelf.values.count
  try stage.checkFiles()
  // The other direction: a program that reads the file without Coffer obtains the product.
  let readable = items.filter { item in
    shelf.bytes(of: item.key).flatMap { try? JSONDecoder().decode(Product.self, from: $0) } == item.product
  }
  stage.check(
    readable.count == items.count, "products read without Coffer, all equal", count: readable.count)
}
