import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation

/// Runs a command on a store of files in a directory; returns whether it is one.
func runOnFiles(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "files-armed": try await armedFiles(path, batch: rest[0], fault: rest[1], holdsSnapshot: rest.count > 2)
  case "files-armed-open": try await armedOpen(path, fault: rest[0])
  case "files-armed-read": try await armedRead(path, fault: rest[0])
  case "files-take-in": try await takeIn(path)
  case "files-exit": try await exitWhileBusy(path)
  case "files-storm": try await storm(path, name: rest[0])
  case "files-watch": try await watchFiles(path)
  case "files-snapshot": try await snapshotOfFiles(path)
  case "files-as-nobody": try await useAsNobody(path, deletes: rest.first == "delete")
  case "files-delete-dying": try await deleteDying(path, rest[0])
  default: return false
  }
  return true
}

private func open(_ path: String, _ configuration: SlotEngine.Configuration = .patient) async throws -> SlotEngine {
  try await SlotEngine.files(in: URL(fileURLWithPath: path), configuration: configuration)
}

/// Commits a batch under a system fault, then commits and reads again to check that the store is usable.
private func armedFiles(_ path: String, batch: String, fault: String, holdsSnapshot: Bool) async throws {
  let engine = try await open(path)
  @Sendable func commit() async throws {
    try arm(fault)
    await report("commit") {
      try await engine.commit(batch == "single" ? FileScenario.single() : FileScenario.batch(), from: StoreOrigin())
    }
    say("struck \(try disarm() ? "yes" : "no")")
  }
  if holdsSnapshot {
    try await engine.withSnapshot { _ in try await commit() }
  } else {
    try await commit()
  }
  await report("later") {
    try await engine.commit(WriteBatch([.put(KeyName("later"), Data("x".utf8))]), from: StoreOrigin())
  }
  await report("read") { _ = try await engine.entry(KeyName("keep")) }
  try await engine.close()
}

private func armedOpen(_ path: String, fault: String) async throws {
  try arm(fault)
  await report("open") { try await open(path).close() }
  say("struck \(try disarm() ? "yes" : "no")")
}

/// Reads an existing key, an absent one and all values, each under a fault.
private func armedRead(_ path: String, fault: String) async throws {
  let engine = try await open(path)
  for key in ["keep", "absent", FileScenario.longKey] {
    try arm(fault)
    await report("entry") { say(try await engine.entry(KeyName(key)) == nil ? "nil" : "value") }
    say("struck \(try disarm() ? "yes" : "no")")
  }
  try arm(fault)
  await report("page") {
    let page = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    say("\(page.count)")
  }
  say("struck \(try disarm() ? "yes" : "no")")
  try await engine.close()
}

/// Opens a directory of unregistered files, lists them, and prints the durations and the peak memory.
private func takeIn(_ path: String) async throws {
  let clock = ContinuousClock()
  var start = clock.now
  var configuration = SlotEngine.Configuration()
  configuration.foreignData = .ignore
  let engine = try await open(path, configuration)
  let report = try await engine.recoveryReport()
  say("edited \(report.edited), rebuilt \(report.wasRebuilt)")
  say("taken in within \(clock.now - start)")
  start = clock.now
  let count = try await engine.withSnapshot { snapshot in
    var count = 0
    var last: KeyName?
    while true {
      let page = try await snapshot.page(prefix: nil, after: last, limit: 1_000)
      guard let end = page.last else { return count }
      count += page.count
      last = end.key
    }
  }
  say("listed \(count) with their values within \(clock.now - start)")
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.split(separator: " ").dropFirst().first
  say("used \((peak.flatMap { Int($0) } ?? 0) / 1_024) MB of memory at most")
  try await engine.close()
}

/// Exits the process during concurrent commits and reads, without closing the store.
private func exitWhileBusy(_ path: String) async throws {
  let engine = try await open(path)
  let first = engine.latestRevision
  for task in 0..<4 {
    Task.detached {
      let key = try KeyName("\(FileScenario.longKey.dropLast(2))\(task)")
      while true {
        try await engine.commit(WriteBatch([.put(key, Data("x".utf8))]), from: StoreOrigin())
        for _ in 0..<20 { _ = try await engine.entry(key) }
      }
    }
  }
  try await eventually("commits are under way") { engine.latestRevision.rawValue > first.rawValue + 4 }
  exit(0)
}

/// Runs eight tasks that store equal values under two keys with different batches, without end, and prints the revision
/// of each commit.
private func storm(_ path: String, name: String) async throws {
  let engine = try await open(path)
  let (left, right) = (KeyName("pair/left"), KeyName("pair/right"))
  await withTaskGroup(of: Void.self) { group in
    for task in 0..<8 {
      group.addTask {
        let origin = StoreOrigin()
        for number in 0... {
          let value = Data("\(name) \(task) \(number) \(String(repeating: "x", count: number % 50))".utf8)
          var batch = WriteBatch()
          switch task % 3 {
          case 0: batch.clear(prefix: KeyName("pair/"))
          case 1: batch.delete(right)
          default: batch.put(left, Data("passed over".utf8))
          }
          batch.put(left, value)
          batch.put(right, value)
          guard let commit = try? await engine.commit(batch, from: origin) else { return }
          say("ack \(commit.revision)")
        }
      }
    }
  }
}

/// Prints every change, as "commit REVISION own|foreign KEY...", until a line arrives.
private func watchFiles(_ path: String) async throws {
  let engine = try await open(path)
  let changes = engine.changes(since: nil)
  let listening = Task {
    for await change in changes {
      guard case .commit(let commit) = change else {
        say("reload")
        continue
      }
      let kind = commit.transaction == nil && commit.origin == nil ? "foreign" : "own"
      say("commit \(commit.revision) \(kind) \(commit.changed.keys.map(\.string).sorted().joined(separator: " "))")
    }
  }
  say("ready")
  await Task.detached { _ = readLine() }.value
  try await engine.close()
  await listening.value
}

/// Reads the values of the scenario in one snapshot, before and after a line arrives.
private func snapshotOfFiles(_ path: String) async throws {
  let engine = try await open(path)
  try await engine.withSnapshot { snapshot in
    for _ in 0..<2 {
      for key in FileScenario.before.keys.sorted() {
        do {
          let entry = try await snapshot.entries([KeyName(key)])[0]
          say("value \(key.prefix(8)) \(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "absent")")
        } catch let error as StorageError {
          say("value \(key.prefix(8)) \(error.code)")
        }
      }
      say("read")
      await Task.detached { _ = readLine() }.value
    }
  }
  say("ended")
  await Task.detached { _ = readLine() }.value
  try await engine.close()
}

/// Drops root privileges, then opens the store, reads one value and writes or deletes another.
private func useAsNobody(_ path: String, deletes: Bool) async throws {
  try becomeNobody()
  do {
    let engine = try await open(path)
    say("open ok")
    await report("entry") {
      let entry = try await engine.entry(KeyName("theme"))
      say("theme \(entry == nil ? "absent" : "there")")
    }
    await report("commit") {
      try await engine.commit(
        deletes ? WriteBatch([.delete(KeyName("theme"))]) : FileScenario.single(), from: StoreOrigin())
    }
    if deletes {
      await report("entry") {
        let entry = try await engine.entry(KeyName("theme"))
        say("theme \(entry == nil ? "absent" : "there")")
      }
    }
    try await engine.close()
  } catch let error as StorageError {
    say("open \(error.code) \(error.description)")
  }
}

/// Removes a key and kills itself after the file is deleted and before the journal records it.
private func deleteDying(_ path: String, _ key: String) async throws {
  var configuration = SlotEngine.Configuration()
  configuration.atStep = { if $0 == .synced { kill(getpid(), SIGKILL) } }
  let engine = try await open(path, configuration)
  try await engine.commit(WriteBatch([.delete(KeyName(key))]), from: StoreOrigin())
  say("never said")
}
