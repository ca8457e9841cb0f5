import BenchValgrind
import CofferPostgreSQL
import CofferPostgreSQLBench
import CofferRouter
import Foundation

/// The store that `coffer get` reads.
let commandStore = "command.db"

private let keys = (0..<1_000).compactMap { try? KeyName(String(format: "app.item.%08d.setting", $0)) }
private let values = (0..<1_000).map { Data(repeating: UInt8(truncatingIfNeeded: $0), count: 256) }
private let small = values.map { Data($0.prefix(64)) }
private let origin = StoreOrigin()

/// Returns the batch that stores the value of a number. Each write stores another value than the one before.
private func put(_ index: Int, among count: Int = 1_000, _ values: [Data] = values) -> WriteBatch {
  WriteBatch([.put(keys[index % count], values[(index + index / count) % 1_000])])
}

/// Performs and counts all operations, each with one caller in steady state.
func performOperations(in directory: URL, server: String?) async throws {
  guard runs_on_valgrind() != 0 else { throw Failure("counting needs valgrind.") }
  for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "XDG_RUNTIME_DIR"] { setenv(name, directory.path, 1) }
  for name in ["DBUS_SESSION_BUS_ADDRESS", "LD_PRELOAD"] { unsetenv(name) }
  func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
  try await countDatabase(path("engine.db"))
  try await countRouter()
  try await countMemory(path("memory.db"))
  try await countSlots("file", await SlotEngine.files(in: URL(fileURLWithPath: path("files"))))
  try await countSlots("preference", await SlotEngine.preferences(suite: "counts"))
  try await countSlots(
    "sealed",
    await SlotEngine.sealed(at: URL(fileURLWithPath: path("sealed")), passphrase: .provided { Data("count".utf8) }))
  try await countEncrypted(directory)
  try await countWriteBack(path("writeback.db"))
  try await countPostgreSQL(server)
  try await countOpening(path(commandStore))
}

private func fill(_ engine: any StorageEngine, count: Int = 1_000, _ values: [Data] = values) async throws {
  try await engine.commit(WriteBatch((0..<count).map { .put(keys[$0], values[$0]) }), from: origin)
}

private func countDatabase(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  try await fill(engine)
  try await count("read", times: 200) { _ = try await engine.entry(keys[$0 % 1_000]) }
  try await countSaves(engine, "save, kill-safe", .relaxed)
  try await countSaves(engine, "save, durable", .full)
  var attributes = ValueAttributes()
  attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 7
  let tagged = attributes
  try await count("save with attributes", times: 200) { index in
    let put = WriteBatch.Operation.put(keys[index % 1_000], values[(index + 7) % 1_000], tagged)
    try await engine.commit(WriteBatch([put], durability: .relaxed), from: origin)
  }
  try await count("256 writers, per value", times: 2, of: 256) { round in
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<256 { group.addTask { try await engine.commit(put(round * 256 + writer), from: origin) } }
      try await group.waitForAll()
    }
  }
  try await countBatches(engine, "batch of 1,000, per value")
  try await engine.close()
}

private func countBatches(_ engine: any StorageEngine, _ name: String) async throws {
  try await count(name, times: 2, of: 1_000) { round in
    var batch = WriteBatch()
    for index in 0..<1_000 { batch.put(keys[index], values[(index + round) % 1_000]) }
    try await engine.commit(batch, from: origin)
  }
}

private func countSaves(
  _ engine: any StorageEngine, _ name: String, _ durability: StoreDurability
) async throws {
  try await count(name, times: 200) { index in
    var batch = put(index)
    batch.durability = durability
    try await engine.commit(batch, from: origin)
  }
}

/// Counts what is read from memory over a database, where each read notices commits of other processes.
private func countMemory(_ path: String) async throws {
  struct Item: Codable, Equatable, Sendable {
    var name: String
    var level: Int
  }
  let engine = try await SQLiteEngine.open(at: path)
  let store = TypedStore(engine: engine)
  try await store.saveAll(keys.indices.map { (keys[$0], Item(name: "item \($0)", level: $0)) })
  for key in keys { _ = try await store.load(Item.self, for: key) }
  try await count("typed read from memory", times: 500) { index in
    let item = try await store.load(Item.self, for: keys[index % 1_000])
    precondition(item?.level == index % 1_000)
  }
  try await count("typed read, cached", times: 500) { index in
    precondition(store.cached(Item.self, for: keys[index % 1_000])?.level == index % 1_000)
  }
  let setting = SettingKey<Data>(
    "setting", in: .engine("settings"), owner: "Counts", about: "A value.", default: Data(), as: .data)
  var configuration = StorageConfiguration()
  configuration.engines["settings"] = engine
  let settings = try await StorageRouter(configuration: configuration).settings(setting)
  settings[setting] = values[0]
  try await count("setting, read", times: 500) { _ in precondition(settings[setting].count == 256) }
  try await settings.flush()
  try await engine.close()
}

extension StorageKeys {
  fileprivate static let value = TypedKey<Data>(
    "value", in: .engine("memory"), owner: "Counts", about: "A value.", as: .data)
}

private struct Catalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(StorageKeys.value)]
}

/// Counts a router over an engine in memory, and that engine alone.
private func countRouter() async throws {
  let engine = MemoryEngine(name: "memory")
  func router(cacheCapacity: Int) async throws -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.engines["memory"] = engine
    configuration.cachePolicy.maximumCount = cacheCapacity
    let router = StorageRouter(configuration: configuration)
    try await router.registerCatalog(Catalog())
    return router
  }
  let (uncached, cached) = (try await router(cacheCapacity: 0), try await router(cacheCapacity: 100))
  try await count("memory engine, save", times: 500) { index in
    try await engine.commit(WriteBatch([.put("value", values[index % 1_000])]), from: origin)
  }
  try await count("router.set", times: 500) { index in
    try await uncached.set(values[index % 1_000], for: StorageKeys.value)
  }
  try await count("memory engine, read", times: 500) { _ in _ = try await engine.entry("value") }
  try await count("router.get", times: 500) { _ in _ = try await uncached.get(StorageKeys.value) }
  try await count("router.get, cached", times: 500) { _ in _ = try await cached.get(StorageKeys.value) }
  try await count("router.cached", times: 500) { _ in precondition(cached.cached(StorageKeys.value) != nil) }
}

private func countSlots(_ name: String, _ engine: SlotEngine) async throws {
  let values = name == "file" ? values : small
  try await fill(engine, count: 100, values)
  try await count("\(name), save", times: 20) { index in
    try await engine.commit(put(index, among: 100, values), from: origin)
  }
  try await count("\(name), read", times: 100) { _ = try await engine.entry(keys[$0 % 100]) }
  if name == "file" { try await countBatches(engine, "file, batch of 1,000, per value") }
  try await engine.close()
}

private func countEncrypted(_ directory: URL) async throws {
  let key = directory.appendingPathComponent("key")
  _ = FileManager.default.createFile(
    atPath: key.path, contents: Data(0..<32), attributes: [.posixPermissions: 0o600])
  func open(_ name: String, _ settings: EncryptionSettings) async throws -> EncryptedEngine {
    let base = try await SQLiteEngine.open(at: directory.appendingPathComponent(name).path)
    let engine = try await EncryptedEngine.open(
      base, key: .file(key), configuration: EncryptedEngine.Configuration(settings: settings))
    try await fill(engine)
    return engine
  }
  let sealed = try await open("encrypted.db", EncryptionSettings())
  try await countSaves(sealed, "encrypted, save", .relaxed)
  try await count("encrypted, read", times: 200) { _ = try await sealed.entry(keys[$0 % 1_000]) }
  try await sealed.close()
  let hidden = try await open("hidden.db", EncryptionSettings(hidesNames: true))
  let prefix: KeyName = "app.item.000001"
  try await count("page of 100, hidden", times: 10) { _ in
    let found = try await hidden.withSnapshot { try await $0.page(prefix: prefix, after: nil, limit: 1_000).count }
    precondition(found == 100)
  }
  try await hidden.close()
}

/// Counts saves that return from memory, and the commit of what they have left there.
private func countWriteBack(_ path: String) async throws {
  let store = TypedStore(
    engine: try await SQLiteEngine.open(at: path), cache: CachePolicy(maximumBytes: 8 << 20),
    writePolicy: .back(maximumPendingBytes: 64 << 20))
  try await count("write-back, save", times: 2, of: 1_000) { round in
    for index in 0..<1_000 { try await store.save(values[(index + round) % 1_000], for: keys[index]) }
    try await store.flush()
  }
  try await store.close()
}

private func countOpening(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  try await fill(engine)
  try await engine.commit(WriteBatch([.put("key", values[0])]), from: origin)
  try await engine.close()
  try await count("open, read, close", times: 4) { index in
    let engine = try await SQLiteEngine.open(at: path)
    _ = try await engine.entry(keys[index])
    try await engine.close()
  }
}

private func countPostgreSQL(_ location: String?) async throws {
  guard let location else {
    for operation in ["save", "read", "batch of 1,000, per value"] {
      skip("PostgreSQL, \(operation)", BenchServer.obstacle ?? "")
    }
    return
  }
  let engine = try await PostgreSQLEngine.open(location)
  try await fill(engine)
  try await count("PostgreSQL, save", times: 50) { try await engine.commit(put($0), from: origin) }
  try await count("PostgreSQL, read", times: 50) { _ = try await engine.entry(keys[$0 % keys.count]) }
  try await countBatches(engine, "PostgreSQL, batch of 1,000, per value")
  try await engine.close()
}
