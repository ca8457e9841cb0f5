import Coffer
import Foundation

/// A wish as version 1 of an app stored it: the price as people typed it.
private struct Wish1: Codable, Hashable, Sendable {
  var product: String
  var below: String
}

/// A wish as version 2 stores it: an amount that can be compared.
private struct Wish2: Codable, Hashable, Sendable {
  var product: String
  var dollars: Int
}

private struct UnreadablePrice: Error {}

/// Version 1 of an app saves wishes, and version 2 reads them. One price cannot be converted, and stays as it is.
func migrationAct(_ stage: Stage) async throws {
  let count = 200
  try await stage.withDatabase { engine in
    let version1 = try store(engine, ValueSchema<Wish1>("wish", version: 1))
    for number in 0..<count {
      let price = number == 7 ? "cheap" : "$\(number)"
      try await version1.save(Wish1(product: "mat", below: price), for: .numbered(number, in: "wishes"))
    }
    let step = MigrationStep(from: 1, to: 2) { (old: Wish1) in
      guard let dollars = Int(old.below.dropFirst()) else { throw UnreadablePrice() }
      return Wish2(product: old.product, dollars: dollars)
    }
    let version2 = try store(engine, ValueSchema<Wish2>("wish", version: 2, steps: [step]))
    let report = try await version2.migrate()
    if let error = report.failures.first?.error { try stage.say("\"\(error.message)\"") }
    try stage.check(report.failed == 1, report.failed, "price in words, reported and left as it was")
    var equal = 0
    for number in 0..<count where number != 7 {
      let wish = try await version2.load(Wish2.self, for: .numbered(number, in: "wishes"))
      if wish == Wish2(product: "mat", dollars: number) { equal += 1 }
    }
    try stage.check(equal == count - 1, equal, "wishes of version 1 read by version 2")
  }
}

private func store<Value: Codable>(_ engine: any StorageEngine, _ schema: ValueSchema<Value>) throws -> TypedStore {
  var schemas = StoreSchema()
  try schemas.declare(prefix: "wishes/", schema)
  return try TypedStore(engine: engine, schema: schemas)
}
