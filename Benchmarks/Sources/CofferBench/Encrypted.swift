import Coffer
import CofferEncryption
import Foundation

/// Measures what encryption adds to puts, gets and listings of a database.
func measureEncrypted(_ bench: inout Bench, _ directory: URL) async throws {
  let key = directory.appendingPathComponent("encrypted.key")
  FileManager.default.createFile(
    atPath: key.path, contents: Data((0..<32).map { _ in UInt8.random(in: 0...255) }),
    attributes: [.posixPermissions: 0o600])
  func open(_ name: String, _ settings: EncryptionSettings?) async throws -> any StorageEngine {
    let base = try await SQLiteEngine.open(at: directory.appendingPathComponent("\(name).db").path)
    guard let settings else { return base }
    return try await EncryptedEngine.open(
      base, key: .file(key), configuration: EncryptedEngine.Configuration(settings: settings))
  }
  let plain = try await open("encrypted-none", nil)
  let sealed = try await open("encrypted-values", EncryptionSettings())
  let hidden = try await open("encrypted-names", EncryptionSettings(hidesNames: true))
  try await measurePuts(&bench, plain, sealed, hidden)
  try await measureGets(&bench, plain, sealed, hidden)
  try await measureListings(&bench, plain, sealed, hidden)
  try await measureRotation(&bench, plain, sealed)
  for engine in [plain, sealed, hidden] { try await engine.close() }
}

private func measurePuts(
  _ bench: inout Bench, _ plain: any StorageEngine, _ sealed: any StorageEngine, _ hidden: any StorageEngine
) async throws {
  let (values, origin) = (try Values(count: 1_000), StoreOrigin())
  func put(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 50) { index in
        let operation = WriteBatch.Operation.put(values.keys[values.slot(index)], Data(Values.bytes(index)))
        try await engine.commit(WriteBatch([operation], durability: .relaxed), from: origin)
      }
    }
  }
  try await bench.measure(
    "encrypted.put", count: 5_000,
    [
      Variant(subject: "plain", run: put(plain)),
      Variant(
        subject: "encrypted",
        limit: Limit(subject: "plain", maximumAddedMicroseconds: 2, accepted: 2.5, isProcessorTime: true),
        run: put(sealed)),
      Variant(subject: "hidden names", limit: Limit(subject: "plain"), run: put(hidden)),
    ])
}

private func measureGets(
  _ bench: inout Bench, _ plain: any StorageEngine, _ sealed: any StorageEngine, _ hidden: any StorageEngine
) async throws {
  let values = try Values(count: 1_000)
  func get(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 50) { index in
        let entry = try await engine.entry(values.keys[values.slot(index)])
        precondition(entry != nil)
      }
    }
  }
  func cached(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    let store = TypedStore(engine: engine)
    return { first, count in
      try await grouped(first, count, by: 500) { index in
        let value = try await store.load(Data.self, for: values.keys[values.slot(index % 10)])
        precondition(value != nil)
      }
    }
  }
  try await bench.measure(
    "encrypted.get", count: 10_000,
    [
      Variant(subject: "plain", run: get(plain)),
      Variant(
        subject: "encrypted",
        limit: Limit(subject: "plain", maximumAddedMicroseconds: 1.2, accepted: 2, isProcessorTime: true),
        run: get(sealed)),
      Variant(
        subject: "hidden names", limit: Limit(subject: "plain", maximumAddedMicroseconds: 3, isProcessorTime: true),
        run: get(hidden)),
    ])
  try await bench.measure(
    "encrypted.get.cached", count: 50_000,
    [
      Variant(subject: "plain", run: cached(plain)),
      Variant(
        subject: "encrypted", limit: Limit(subject: "plain", maximumAddedMicroseconds: 0.1, isProcessorTime: true),
        run: cached(sealed)),
      Variant(
        subject: "hidden names", limit: Limit(subject: "plain", maximumAddedMicroseconds: 0.1, isProcessorTime: true),
        run: cached(hidden)),
    ])
}

private func measureListings(
  _ bench: inout Bench, _ plain: any StorageEngine, _ sealed: any StorageEngine, _ hidden: any StorageEngine
) async throws {
  let prefix = KeyName("app.item.000001")
  let origin = StoreOrigin()
  for engine in [plain, sealed, hidden] {
    let values = try Values(count: 10_000)
    let puts = values.keys.indices.map { WriteBatch.Operation.put(values.keys[$0], Data(Values.bytes($0))) }
    try await engine.commit(WriteBatch(puts, durability: .relaxed), from: origin)
  }
  func list(_ engine: any StorageEngine, readsValues: Bool) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 1) { index in
        let found = try await engine.withSnapshot { snapshot in
          readsValues
            ? try await snapshot.page(prefix: prefix, after: nil, limit: 1_000).count
            : try await snapshot.summaries(prefix: prefix, after: nil, limit: 1_000).count
        }
        precondition(found == 100)
      }
    }
  }
  for readsValues in [false, true] {
    try await bench.measure(
      readsValues ? "encrypted.page.100" : "encrypted.list.100", count: 500,
      [
        Variant(subject: "plain", run: list(plain, readsValues: readsValues)),
        Variant(subject: "encrypted", limit: Limit(subject: "plain"), run: list(sealed, readsValues: readsValues)),
        Variant(
          subject: "hidden names",
          limit: Limit(subject: "plain", maximumRatio: readsValues ? 1.8 : 3, accepted: readsValues ? 4 : nil),
          run: list(hidden, readsValues: readsValues)),
      ])
  }
  let key = KeyName("app.item.00005000.setting")
  // Each listing follows a commit, so that an index has to be brought up to date.
  func change(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 1) { index in
        let batch = WriteBatch([.put(key, Data(Values.bytes(index)))], durability: .relaxed)
        try await engine.commit(batch, from: origin)
        _ = try await engine.withSnapshot { try await $0.summaries(prefix: key, after: nil, limit: 1) }
      }
    }
  }
  try await bench.measure(
    "encrypted.list.changed", count: 500,
    [
      Variant(subject: "plain", run: change(plain)),
      Variant(subject: "hidden names", limit: Limit(subject: "plain", maximumRatio: 3), run: change(hidden)),
    ])
}

/// Measures a rotation of 100,000 values of 256 B, beside copying plain ones to another database.
private func measureRotation(_ bench: inout Bench, _ plain: any StorageEngine, _ sealed: any StorageEngine) async throws
{
  let values = try Values(count: 100_000)
  let origin = StoreOrigin()
  for engine in [plain, sealed] {
    for start in stride(from: 0, to: values.keys.count, by: 1_000) {
      let puts = (start..<start + 1_000).map { index in
        WriteBatch.Operation.put(
          values.keys[index], Data((0..<256).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0) }))
      }
      try await engine.commit(WriteBatch(puts, durability: .relaxed), from: origin)
    }
  }
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-copies-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  func copy(_ number: Int) async throws {
    let target = try await SQLiteEngine.open(at: folder.appendingPathComponent("\(number).db").path)
    try await plain.withSnapshot { snapshot in
      try await snapshot.forEachPage(500) { page in
        let puts = page.map { WriteBatch.Operation.put($0.key, $0.value, $0.attributes) }
        try await target.commit(WriteBatch(puts, durability: .relaxed), from: origin)
      }
    }
    try await target.flush()
    try await target.close()
  }
  try await bench.measure(
    "encrypted.rotate.100000", rounds: 3, count: 1,
    [
      Variant(subject: "copy of plain") { first, count in try await each(first, count) { try await copy($0) } },
      Variant(subject: "encrypted", limit: Limit(subject: "copy of plain", maximumRatio: 2.5)) { first, count in
        try await each(first, count) { _ in
          guard let engine = sealed.as(EncryptedEngine.self) else { return }
          let report = try await engine.rotate().result()
          precondition(report.isComplete && report.changedValues >= values.keys.count)
        }
      },
    ])
}

extension StorageSnapshot {
  /// Calls `body` with every page.
  fileprivate func forEachPage(_ size: Int, _ body: ([StoreEntry]) async throws -> Void) async throws {
    var last: KeyName?
    while true {
      let page = try await page(prefix: nil, after: last, limit: size)
      guard let end = page.last else { return }
      try await body(page)
      last = end.key
    }
  }
}
