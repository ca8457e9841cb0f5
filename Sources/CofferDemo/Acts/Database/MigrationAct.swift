import Coffer
import CofferCore
import Foundation

/// A wish as version 1 of an app stored it: the price as people typed it.
private struct Wish1: Codable, Hashable, Sendable {
  var product: String
  var below: String
}

/// A wish as version 2 stores it: an amount that can be compared.
private struct Wish2: Codable, Hashable, Sendable {
  var product: String
  var cents: Int
}

private struct UnreadablePrice: Error {}

/// Version 1 of an app saves wishes, and version 2 opens them. Its first release cannot read one of the prices.
func migrationAct(_ stage: Stage) async throws {
  let count = 200
  try await stage.withEngine { engine in
    let version1 = try wishes(engine, try ValueSchema<Wish1>("wish", version: 1))
    for number in 0..<count {
      // One user has typed a price in words.
      let price = number == count / 2 ? "120 dollars" : "$\(40 + number).50"
      try await version1.save(Wish1(product: "mat-\(number)", below: price), for: key(number))
    }
    let before = try await bytes(engine)

    let hasty = try wishes(engine, version2 { try cents($0, words: []) })
    try await failOnce(stage, hasty)
    let untouched = try await unchanged(engine, since: before)
    stage.check(untouched == 1, "wish that stays as it was", count: untouched)

    let corrected = try wishes(engine, version2 { try cents($0, words: ["dollars"]) })
    let report = try await corrected.migrate()
    stage.console.line("   The corrected release resumes: \(report.migrated) wish was left to migrate.")
    var read = 0
    for number in 0..<count {
      let wish = try await corrected.load(Wish2.self, for: key(number))
      let expected = number == count / 2 ? 120_00 : (40 + number) * 100 + 50
      if wish == Wish2(product: "mat-\(number)", cents: expected) { read += 1 }
    }
    stage.summary.readAfterMigration = read
    stage.check(read == count, "wishes of version 1 read by version 2", count: read)

    let last = try key(count - 1)
    let back = MigrationStep(from: 2, to: 1) { (new: Wish2) in
      Wish1(product: new.product, below: "$\(new.cents / 100).\(new.cents % 100)")
    }
    let withdrawn = try wishes(engine, try ValueSchema<Wish1>("wish", version: 1, steps: [back]))
    let isBack = try await withdrawn.load(Wish1.self, for: last)?.below == "$239.50"
    stage.check(isBack, "wish brought back to version 1 by a step back", count: isBack ? 1 : 0)
  }
}

private func key(_ number: Int) throws -> KeyName {
  try KeyName("wishes/" + String(1_000 + number))
}

private func wishes<Value: Codable>(_ engine: any StorageEngine, _ schema: ValueSchema<Value>) throws -> TypedStore {
  var schemas = StoreSchema()
  try schemas.declare(prefix: "wishes/", schema)
  return try TypedStore(engine: engine, schema: schemas)
}

private func version2(_ cents: @escaping @Sendable (String) throws -> Int) throws -> ValueSchema<Wish2> {
  try ValueSchema<Wish2>(
    "wish", version: 2,
    steps: [
      MigrationStep(from: 1, to: 2) { (old: Wish1) in Wish2(product: old.product, cents: try cents(old.below)) }
    ])
}

/// Returns the amount that a text states.
private func cents(_ text: String, words: [String]) throws -> Int {
  let number = words.reduce(text) { $0.replacingOccurrences(of: $1, with: "") }
    .trimmingCharacters(in: CharacterSet(charactersIn: "$ "))
  guard let amount = Decimal(string: number), text.hasPrefix("$") || !words.isEmpty else { throw UnreadablePrice() }
  return NSDecimalNumber(decimal: amount * 100).intValue
}

/// Migrates with a step that fails at one value, and shows what its error says.
private func failOnce(_ stage: Stage, _ store: TypedStore) async throws {
  let report = try await store.migrate()
  stage.check(
    report.failed == 1 && report.failures.first?.error.code == .migrationFailed,
    "price in words, which is not migrated", count: report.failed)
  guard let error = report.failures.first?.error else { return }
  stage.console.line("   The first release of version 2 meets a price in words, and reports:")
  let clauses = error.message.split(separator: ": ", maxSplits: 1)
  for (index, clause) in clauses.enumerated() {
    let (start, end) = (index == 0 ? "\"" : " ", index == clauses.count - 1 ? "\"" : ":")
    stage.console.line("   \(start)\(clause)\(end)")
  }
}

private func bytes(_ engine: any StorageEngine) async throws -> [KeyName: Data] {
  let found = Locked<[KeyName: Data]>([:])
  try await engine.forEachEntry(under: "wishes/") { entry in found.withLock { $0[entry.key] = entry.value } }
  return found.withLock { $0 }
}

/// Returns how many wishes have the bytes that they had.
private func unchanged(_ engine: any StorageEngine, since before: [KeyName: Data]) async throws -> Int {
  let now = try await bytes(engine)
  return before.filter { now[$0.key] == $0.value }.count
}
