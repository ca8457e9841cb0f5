import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation

/// Runs a command of a replay of power losses on its directory; returns whether it is one.
func runPowerLoss(_ command: String, _ root: String, _ rest: [String]) async throws -> Bool {
  guard ["loss-build", "loss", "loss-broken"].contains(command) else { return false }
  guard let kind = rest.first.flatMap(LossKind.init) else { throw Usage() }
  if command == "loss-build" {
    guard mkdir(root + "/pool", 0o700) == 0, mkdir(root + "/live", 0o700) == 0 else { throw Usage() }
    let directory = root + "/live"
    if kind.isOfCommands {
      try CommandScript(kind: kind, root: root, directory: directory).run()
    } else {
      try await LossScript(kind: kind, directory: directory).run()
    }
    say("built")
    return true
  }
  guard rest.count == 4, let seed = UInt64(rest[1]), let first = Int(rest[2]), let count = Int(rest[3]) else {
    throw Usage()
  }
  let replay = try LossReplay(kind, root, seed: seed)
  for number in first..<(first + count) {
    say("at \(number)")
    try await command == "loss" ? replay.lose(number) : replay.breakPrograms(number)
  }
  replay.end()
  return true
}

/// What the recorded process does: commits that it acknowledges, or a command that begins after them.
private struct LossScript {
  let kind: LossKind
  let directory: String

  func run() async throws {
    try await fill()
    guard kind.hasCommand else { return }
    say("begin")
    switch kind {
    case .migration: try await migrate()
    case .encrypt:
      let engine = try await kind.base.open(directory).engine
      try await finish(EncryptedEngine.encrypt(engine, key: LossKind.key), engine)
    case .rotate:
      let engine = try await EncryptedEngine.open(kind.base.open(directory).engine, key: LossKind.key)
      try await finish(engine.rotate(), engine)
    case .rekey: try await exchangeKey()
    case .expiry: try await expire()
    case .backup:
      let engine = try await SQLiteEngine.open(at: directory + "/store.db")
      try await engine.backup(to: directory + (kind.copy ?? ""))
      say("ack")
      try await engine.close()
    case .restore:
      try await SQLiteEngine.restore(from: directory + "/backup.db", to: directory + "/store.db")
      say("ack")
    default: throw Usage()
    }
  }

  private func fill() async throws {
    if kind == .migration { return try await fillFirstVersion() }
    var engine = try await kind == .encrypt ? kind.base.open(directory).engine : kind.open(directory)
    for number in 0..<kind.count {
      _ = try await engine.commit(kind.batch(number), from: StoreOrigin())
      say("ack")
      guard number == 3 else { continue }
      if kind == .restore { try await engine.as(SQLiteEngine.self)?.backup(to: directory + "/backup.db") }
      try await engine.close()
      engine = try await kind.open(directory)
    }
    try await engine.close()
  }

  private func fillFirstVersion() async throws {
    let engine = try await kind.open(directory)
    let store = try TypedStore(engine: engine, schema: LossKind.schema(isNewest: false))
    for number in 0..<8 {
      try await store.save("\(number)", for: KeyName("n/\(number)"))
      say("ack")
    }
    try await engine.close()
  }

  private func migrate() async throws {
    let engine = try await kind.open(directory)
    let store = try TypedStore(engine: engine, schema: LossKind.schema(isNewest: true))
    _ = try await store.migrate()
    say("ack")
    try await engine.close()
  }

  private func finish(_ rotation: KeyRotation.Run, _ engine: any StorageEngine) async throws {
    guard try await rotation.result().isComplete else { throw Usage() }
    say("ack")
    try await engine.close()
  }

  /// Commits a value that has expired, which is removed by a commit of its own.
  private func expire() async throws {
    let engine = try await kind.open(directory)
    let attributes = ValueAttributes(expires: Date(timeIntervalSince1970: 1))
    let brief = WriteBatch([.put("brief", Data("x".utf8), attributes)])
    let commit = try await engine.commit(brief, from: StoreOrigin())
    try await eventually("the value is removed") { engine.latestRevision > commit.revision }
    say("ack")
    try await engine.close()
  }

  private func exchangeKey() async throws {
    let engine = try await kind.base.open(directory).engine
    let store = try KeyRingStore(engine)
    let open = try await store.open(
      with: LossKind.key, settings: EncryptionSettings(), ifMissing: .refuse)
    _ = try await store.reseal(open, with: LossKind.newKey)
    say("ack")
    try await engine.close()
  }
}

/// The same with `coffer` itself: a step is acknowledged when its process has ended with status 0.
private struct CommandScript {
  let kind: LossKind
  let root: String
  let directory: String

  private var database: String { directory + "/store.db" }
  private var store: String { kind.base == .files ? "file:" + directory : database }

  func run() throws {
    for number in 0..<kind.count {
      let (key, value) = kind.change(number)
      if let value {
        try write(value, to: "/value")
        try coffer("set", key, "--file", root + "/value", "--store", store)
      } else {
        try coffer("rm", key, "--store", store)
      }
      say("ack")
      if kind == .commandRestore, number == 3 { try coffer("backup", directory + "/backup.db", "--store", store) }
    }
    guard kind.hasCommand else { return }
    try write(Data(1...32), to: "/key")
    say("begin")
    switch kind {
    case .commandCopy: try coffer("cp", store, directory + (kind.copy ?? ""))
    case .commandEncrypt:
      try coffer("encrypt", store, "--key-file", LossKind.keyFile(directory), "--label", LossKind.label)
    default: try coffer("restore", directory + "/backup.db", "--store", store, "--yes")
    }
    say("ack")
  }

  private func write(_ value: Data, to name: String) throws {
    unlink(root + name)
    let file = open(root + name, O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    guard value.withUnsafeBytes({ Foundation.write(file, $0.baseAddress, $0.count) }) == value.count else {
      throw TestFailure("\(name) cannot be written: errno \(errno)")
    }
  }

  private func coffer(_ arguments: String...) throws {
    let process = try HelperProcess(arguments + ["--json"], executable: "coffer", environment: [("HOME", root)])
    let lines = try process.lines()
    let status = process.wait()
    guard status == 0 else { throw TestFailure("coffer \(arguments) ended with \(status): \(lines)") }
  }
}
