import Coffer
import CofferCore
import Foundation

/// Changes one letter of a stored product in the database file, as a failing disk would, and reads everything.
func damageAct(_ stage: Stage) async throws {
  let products = stage.products
  let (victim, key) = (500, try KeyName.numbered(500))
  // Closing has checkpointed the log, so the database file alone holds the store.
  let path = stage.path("shop.db")
  try? FileManager.default.removeItem(atPath: path + "-wal")
  try replace("No. \(victim)", with: "No. \(victim + 1)", inFile: path)

  let reports = Locked(0)
  var configuration = SQLiteEngine.Configuration()
  configuration.onDamage = { _ in reports.withLock { $0 += 1 } }
  try await stage.withDatabase(configuration) { engine in
    let store = TypedStore(engine: engine)
    do {
      _ = try await store.load(Product.self, for: key)
    } catch let error as StorageError where error.code == .damaged {
      try stage.say("Reading that product fails: \"\(error.message)\"")
    }
    try stage.check(reports.withLock { $0 } == 1, reports.withLock { $0 }, "damaged product, reported once")
    var equal = 0
    for number in products.indices where number != victim {
      if try await store.load(Product.self, for: .numbered(number)) == products[number] { equal += 1 }
    }
    try stage.check(equal == products.count - 1, equal, "other products, all as they were saved")
    try await store.save(products[victim], for: key)
    store.dropCache()
    let isBack = try await store.load(Product.self, for: key) == products[victim]
    try stage.check(isBack, isBack ? 1 : 0, "product intact after saving it again")
  }
}

/// Replaces a text by another one of the same length, everywhere in a file.
private func replace(_ old: String, with new: String, inFile path: String) throws {
  var file = try Data(contentsOf: URL(fileURLWithPath: path))
  while let range = file.range(of: Data(old.utf8)) { file.replaceSubrange(range, with: Data(new.utf8)) }
  let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
  try handle.write(contentsOf: file)
  try handle.close()
}
