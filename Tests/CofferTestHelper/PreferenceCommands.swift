import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation

/// Runs a command on the preferences of a suite below `XDG_CONFIG_HOME`; returns whether it is one.
func runOnPreferences(_ command: String, _ suite: String, _ rest: [String]) async throws -> Bool {
  let number = rest.last.flatMap { Int($0) } ?? 0
  switch command {
  case "defaults-read": try readDefaults(suite)
  case "defaults-bytes": try readBytes(suite, rest)
  case "defaults-fill": try fillDefaults(suite)
  case "defaults-set": try setDefaults(suite, Array(rest))
  case "defaults-hold": try holdDefaults(suite, Array(rest))
  case "defaults-loop": try loopDefaults(suite, count: number)
  case "prefs-armed": try await armedPreferences(suite, fault: rest[0])
  case "prefs-talk": try await talk(suite)
  case "prefs-as-nobody":
    try becomeNobody()
    try await talk(suite)
  default: return false
  }
  return true
}

// MARK: UserDefaults

private func defaults(_ suite: String) throws -> UserDefaults {
  guard let defaults = UserDefaults(suiteName: suite) else { throw Usage() }
  return defaults
}

private func synchronize(_ defaults: UserDefaults) throws {
  guard defaults.synchronize() else { throw Usage() }
}

/// Prints the test's values as `UserDefaults` reads them.
private func readDefaults(_ suite: String) throws {
  let defaults = try defaults(suite)
  say("string \(defaults.string(forKey: "string") ?? "nil")")
  say("yes \(defaults.bool(forKey: "yes"))")
  say("integer \(defaults.integer(forKey: "integer"))")
  say("unsigned \((defaults.object(forKey: "unsigned") as? NSNumber)?.uint64Value ?? 0)")
  say("one \(defaults.double(forKey: "one"))")
  say("tenth \(defaults.double(forKey: "tenth"))")
  say("date \((defaults.object(forKey: "date") as? Date)?.timeIntervalSinceReferenceDate ?? 0)")
  say("data \(defaults.data(forKey: "data")?.base64EncodedString() ?? "nil")")
  say("array \(defaults.stringArray(forKey: "array")?.joined(separator: ",") ?? "nil")")
  let numbers = defaults.dictionary(forKey: "dictionary")?.compactMap { "\($0.key)=\(($0.value as? NSNumber) ?? -1)" }
  say("dictionary \(numbers?.sorted().joined(separator: ",") ?? "nil")")
  say("file \(defaults.url(forKey: "file")?.path ?? "nil")")
  say("web \(PreferenceValue.data(defaults.data(forKey: "web") ?? Data()).url?.absoluteString ?? "nil")")
  say("decimal \(defaults.string(forKey: "decimal") ?? "nil")")
}

/// Prints the bytes of some keys in Base64, as `UserDefaults` reads them.
private func readBytes(_ suite: String, _ keys: [String]) throws {
  let defaults = try defaults(suite)
  for key in keys { say(defaults.data(forKey: key)?.base64EncodedString() ?? "nil") }
}

private func fillDefaults(_ suite: String) throws {
  let defaults = try defaults(suite)
  defaults.set("dark", forKey: "string")
  defaults.set(true, forKey: "yes")
  defaults.set(42, forKey: "integer")
  defaults.set(0.1, forKey: "tenth")
  defaults.set(1.0, forKey: "one")
  defaults.set(Date(timeIntervalSinceReferenceDate: 1_000), forKey: "date")
  defaults.set(Data([0, 1, 255]), forKey: "data")
  defaults.set(["a", "b"], forKey: "array")
  defaults.set(["x": 1, "y": 2], forKey: "dictionary")
  defaults.set(URL(fileURLWithPath: "/tmp/file"), forKey: "file")
  try synchronize(defaults)
  say("done")
}

/// Sets pairs of keys and strings, and synchronizes.
private func setDefaults(_ suite: String, _ pairs: [String]) throws {
  let defaults = try defaults(suite)
  for index in stride(from: 0, to: pairs.count - 1, by: 2) { defaults.set(pairs[index + 1], forKey: pairs[index]) }
  try synchronize(defaults)
  say("done")
}

/// Reads, waits for a line, then sets and synchronizes; values written in between must survive.
private func holdDefaults(_ suite: String, _ pair: [String]) throws {
  let defaults = try defaults(suite)
  say("read \(defaults.string(forKey: "string") ?? "nil")")
  _ = readLine()
  try setDefaults(suite, pair)
  say("now \(defaults.string(forKey: "late") ?? "nil")")
}

private func loopDefaults(_ suite: String, count: Int) throws {
  let defaults = try defaults(suite)
  for number in 0..<count {
    defaults.set(number, forKey: "foreign")
    say(defaults.synchronize() ? "ack \(number)" : "failed \(number)")
  }
}

// MARK: Preferences engine

/// Commits a batch under a system fault, then commits and reads again to check that the store is usable.
private func armedPreferences(_ suite: String, fault: String) async throws {
  let engine = try await SlotEngine.preferences(suite: suite, configuration: .patient)
  try arm(fault)
  await report("commit") { try await engine.commit(FileScenario.batch(), from: StoreOrigin()) }
  say("struck \(try disarm() ? "yes" : "no")")
  await report("later") {
    try await engine.commit(WriteBatch([.put(KeyName("later"), Data("x".utf8))]), from: StoreOrigin())
  }
  await report("read") { _ = try await engine.entry(KeyName("keep")) }
  try await engine.close()
}

/// Executes the command in each line with one adapter, which is never reopened.
private func talk(_ suite: String) async throws {
  let adapter = UserDefaultsAdapter(suiteName: suite)
  say("ready")
  while let line = await Task.detached(operation: { readLine() }).value {
    switch line {
    case "write": await report("write") { try await adapter.set("light", for: "theme") }
    case "read": await report("read") { say("theme \(try await adapter.get("theme")?.string ?? "absent")") }
    case "available": await sayWhenAvailable(adapter.engine, true)
    case "away": await sayWhenAvailable(adapter.engine, false)
    default: throw Usage()
    }
  }
}

/// Waits for the wanted availability of the store and prints it.
private func sayWhenAvailable(_ engine: any StorageEngine, _ wanted: Bool) async {
  for await availability in engine.availability() where (availability == .available) == wanted {
    if case .unavailable(let reason) = availability { say("away \(reason)") } else { say("available") }
    return
  }
}
