import Coffer
import CofferLocks
import Foundation

/// Changes one byte of one stored product in the file, as a failing disk would, and reads everything.
func damageAct(_ stage: Stage) async throws {
  let items = stage.catalogue.items
  let victim = items[items.count / 2]
  let bytes = try await stage.withEngine { try await TypedStore(engine: $0).load(Data.self, for: victim.key) }
  guard let bytes else { throw DemoError("'\(victim.key)' is not there") }
  // The store is closed: its log has been copied into the database file. Without the log, that file is all there is.
  try? FileManager.default.removeItem(atPath: stage.path + "-wal")

  let reports = Locked(0)
  var configuration = SQLiteConfiguration()
  configuration.onDamage = { _ in reports.withLock { $0 += 1 } }
  for place in try places(of: bytes, for: victim.key, inFile: stage.path) {
    let change = try flip(byteAt: place, inFile: stage.path)
    let isHit = try await stage.withEngine(configuration) { engine in
      guard try await isDamaged(TypedStore(engine: engine), victim.key) else { return false }
      stage.console.line("   At byte \(grouped(place)) of the file, '\(change.old)' has become '\(change.new)'.")
      try await readAll(stage, engine, except: victim)
      stage.check(
        reports.withLock { $0 } == 1, "damaged product, told once to the program", count: reports.withLock { $0 })
      stage.summary.damagedValuesReported = reports.withLock { $0 }
      try await heal(stage, engine, victim)
      return true
    }
    if isHit { return }
    _ = try flip(byteAt: place, inFile: stage.path)  // An old copy that the database no longer uses.
  }
  stage.check(false, "damaged product, reported", count: 0)
}

private func isDamaged(_ store: TypedStore, _ key: StoreKey) async throws -> Bool {
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
  stage.check(isBack, "product whole again after saving it anew", count: isBack ? 1 : 0)
}

/// Where in the file the value may lie: behind its key, with at most 20 bytes of numbers in between.
private func places(of value: Data, for key: StoreKey, inFile path: String) throws -> [Int] {
  let file = try Data(contentsOf: URL(fileURLWithPath: path))
  let name = Data(key.string.utf8)
  let start = value.prefix(32)
  // A letter, so that the text stays a text and only the checksum can tell.
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

/// Makes a small letter of a capital one or the other way round; doing it twice changes nothing.
func flip(byteAt place: Int, inFile path: String) throws -> (old: Character, new: Character) {
  let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
  defer { try? file.close() }
  try file.seek(toOffset: UInt64(place))
  guard let old = try file.read(upToCount: 1)?.first else { throw DemoError("the file ends before byte \(place)") }
  try file.seek(toOffset: UInt64(place))
  try file.write(contentsOf: Data([old ^ 0x20]))
  return (Character(UnicodeScalar(old)), Character(UnicodeScalar(old ^ 0x20)))
}
