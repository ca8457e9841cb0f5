import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// Saves products in three ways, compares their costs, and reads them back from the file.
func saveAct(_ stage: Stage) async throws {
  let products = stage.products
  // Each durable commit ends with one sync.
  let syncs = Locked(0)
  var configuration = SQLiteEngine.Configuration()
  configuration.afterCommit = { _ in syncs.withLock { $0 += 1 } }
  func measure(_ name: String, _ numbers: Range<Int>, _ save: (Range<Int>) async throws -> Void) async throws {
    syncs.withLock { $0 = 0 }
    let start = ContinuousClock.now
    try await save(numbers)
    let took = ContinuousClock.now - start
    let each = "\(text(took / numbers.count)) each"
    try stage.say(
      "\(counted(numbers.count, "product")) \(name): \(each), \(counted(syncs.withLock { $0 }, "sync")) to disk")
  }
  try await stage.withDatabase(configuration) { engine in
    let store = TypedStore(engine: engine)
    try await store.save("created", for: "demo/state")  // creates the files
    try await measure("one after the other", 0..<100) { numbers in
      for number in numbers { try await store.save(products[number], for: .numbered(number)) }
    }
    try await measure("in one batch", 100..<400) { numbers in
      try await store.saveAll(numbers.map { (try KeyName.numbered($0), products[$0]) })
    }
    try await measure("by as many writers at once", 400..<products.count) { numbers in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in numbers {
          group.addTask { try await store.save(products[number], for: .numbered(number)) }
        }
        try await group.waitForAll()
      }
    }
  }
  try await stage.withDatabase { engine in
    // A new typed store has an empty cache, so every value is read from the file.
    let found = try await TypedStore(engine: engine)
      .loadAll(Product.self, keys: products.indices.map { try KeyName.numbered($0) })
    let equal = zip(products, found).filter { $0 == $1 }.count
    try stage.check(equal == products.count, equal, "products read exactly as they were saved")
  }
}
