import Coffer
import CofferCore
import Foundation

/// Changes one byte of a stored product in the database file, as a failing disk would, and reads everything.
func damageAct(_ stage: Stage) async throws {
  let items = stage.catalogue.items
  let victim = items[items.count / 2]
  let bytes = try await stage.withEngine { try await TypedStore(engine: $0).load(Data.self, for: victim.key) }
  guard let bytes else { throw DemoError("there is no value for '\(victim.key)'") }
  // Closing has checkpointed the log, so the database file alone now holds the store.
  try? FileManager.default.removeItem(atPath: stage.path + "-wal")

  let reports = Locked(0)
  var configuration = SQLiteEngine.Configuration()
  configuration.onDamage = { _ in reports.withLock { $0 += 1 } }
  for offset in try offsets(of: bytes, for: victim.key, inFile: stage.path) {
    let change = try flip(byteAt: offset, inFile: stage.path)
    let isHit = try await stage.withEngine(configuration) { engine in
      guard try await isDamaged(TypedStore(engine: engine), victim.key) else { return false }
      stage.console.line("   At byte \(grouped(offset)) of the file, '\(change.old)' has become '\(change.new)'.")
      try await readAll(stage, engine, except: victim)
      stage.check(
        reports.withLock { $0 } == 1, "damaged product, reported once", count: reports.withLock { $0 })
      stage.summary.damagedValuesReported = reports.withLock { $0 }
      try await heal(stage, engine, victim)
      return true
    }
    if isHit { return }
    _ = try flip(byteAt: offset, inFile: stage.path)  // The bytes were in a page that is no longer in use.
  }
  stage.check(false, "damaged product, reported", count: 0)
}

private func isDamaged(_ store: TypedStore, _ key: KeyName) async throws -> Bool {
  do {
    _ = try await store.load(Product.self, for: key)
    return false
  } catch let error as StorageError where error.code == .damaged {
    return true
  }
}

private func readAll(_ stage: Stage, _ engine: SQLiteEngine, except victim: Item) async throws {
  let store = TypedStore(engine: engine)
  do {
    _ = try await store.load(Product.self, for: victim.key)
  } catch let error as StorageError {
    stage.console.line("   Reading that product now fails, and the error says:")
    stage.console.line("   \"\(error.message)\"")
  }
  var equal = 0
  for item in stage.catalogue.items where item.key != victim.key {
    if try await store.load(Product.self, for: item.key) == item.product { equal += 1 }
  }
  stage.summary.readBesideTheDamage = equal
  stage.check(equal == stage.catalogue.items.count - 1, "other products read, all as they were saved", count: equal)
}

private func heal(_ stage: Stage, _ engine: SQLiteEngine, _ victim: Item) async throws {
  let store = TypedStore(engine: engine)
  try await store.save(victim.product, for: victim.key)
  store.dropCache()
  let isBack = try await store.load(Product.self, for: victim.key) == victim.product
  stage.check(isBack, "product intact after saving it again", count: isBack ? 1 : 0)
}

/// Returns the offsets at which the value may be stored: after its key, with at most 20 bytes of numbers in between.
private func offsets(of value: Data, for key: KeyName, inFile path: String) throws -> [Int] {
  let file = try Data(contentsOf: URL(fileURLWithPath: path))
  let name = Data(key.string.utf8)
  let start = value.prefix(32)
  // Changing a letter keeps the JSON valid, so that only the checksum detects the change.
  guard let letter = value.dropFirst(16).firstIndex(where: { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) else {
    return []
  }
  var found: [Int] = []
  var position = file.startIndex
  while let range = file.range(of: name, in: position..<file.endIndex) {
    position = range.upperBound
    let end = min(position + 20 + start.count, file.endIndex)
    if let head = file.range(of: start, in: position..<end) { found.append(head.lowerBound + letter) }
  }
  return found
}

/// Changes the case of a letter and returns the old and the new one. A second call restores the file.
func flip(byteAt offset: Int, inFile path: String) throws -> (old: Character, new: Character) {
  let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
  defer { try? file.close() }
  try file.seek(toOffset: UInt64(offset))
  guard let old = try file.read(upToCount: 1)?.first else { throw DemoError("the file ends before byte \(offset)") }
  try file.seek(toOffset: UInt64(offset))
  try file.write(contentsOf: Data([old ^ 0x20]))
  return (Character(UnicodeScalar(old)), Character(UnicodeScalar(old ^ 0x20)))
}
