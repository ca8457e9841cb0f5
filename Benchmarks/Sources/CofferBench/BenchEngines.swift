import Coffer
import Foundation

/// The kinds of stores whose commits other processes receive.
enum EngineKind: String, CaseIterable, Sendable {
  case sqlite, file, prefs, sealed, keychain
}

/// Stores in a private directory, with a private keyring if one is installed.
final class BenchEngines {
  let directory: URL
  private var children: [Process] = []
  private(set) var all = EngineKind.allCases.filter { $0 != .keychain }

  /// Prepares the directory and starts the keyring. Changes the environment of this process: its directories and
  /// session bus.
  init(in directory: URL) throws {
    self.directory = directory
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "XDG_RUNTIME_DIR"] { setenv(name, directory.path, 1) }
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] { unsetenv(name) }
    if try startKeyring() { all.append(.keychain) }
  }

  /// Uses the stores of a parent process, whose environment this process inherits.
  init(joining directory: URL) { self.directory = directory }

  func end() {
    // SIGKILL, since a keyring takes long to terminate.
    for child in children.reversed() where child.isRunning {
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
    }
  }

  func open(_ kind: EngineKind, _ name: String) async throws -> any StorageEngine {
    switch kind {
    case .sqlite: try await SQLiteEngine.open(at: directory.appendingPathComponent(name + ".db").path)
    case .file: try await SlotEngine.files(in: directory.appendingPathComponent(name + ".files"))
    case .prefs: try await SlotEngine.preferences(suite: name)
    case .sealed:
      try await SlotEngine.sealed(
        at: directory.appendingPathComponent(name + ".sealed"), passphrase: .provided { Data("measure".utf8) })
    case .keychain: try await SlotEngine.keychain(service: name)
    }
  }

  /// Starts a bus and a keyring daemon.
  /// - Returns: Whether both are running.
  private func startKeyring() throws -> Bool {
    let socket = directory.appendingPathComponent("bus").path
    guard let bus = run(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=unix:path=\(socket)"]) else {
      return false
    }
    children.append(bus)
    guard waits(until: { access(socket, F_OK) == 0 }) else { return false }
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=\(socket)", 1)
    let daemon = ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"]
    guard let keyring = run(daemon, "measure") else { return false }
    children.append(keyring)
    let file = directory.appendingPathComponent("keyrings/login.keyring").path
    return waits(until: { access(file, F_OK) == 0 })
  }

  private func waits(until isTrue: () -> Bool) -> Bool {
    for _ in 0..<500 {
      if isTrue() { return true }
      usleep(10_000)
    }
    return false
  }

  private func run(_ command: [String], _ input: String = "") -> Process? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    pipe.fileHandleForWriting.write(Data(input.utf8))
    try? pipe.fileHandleForWriting.close()
    return process
  }
}

/// Measures storing and reading one value in a store of 100 values.
func measureEngine(_ bench: inout Bench, _ kind: EngineKind, _ engines: BenchEngines) async throws {
  guard [.prefs, .sealed, .keychain].contains(kind) else { return }  // The others have separate rows.
  let values = try Values(count: 100)
  let engine = try await engines.open(kind, "measure")
  let origin = StoreOrigin()
  let operations = values.keys.indices.map {
    WriteBatch.Operation.put(values.keys[$0], Data(Values.bytes($0, size: 64)))
  }
  try await engine.commit(WriteBatch(operations), from: origin)
  let (rounds, puts, gets) = kind == .keychain ? (2, 30, 100) : (3, 60, 1_000)
  let put = Variant(
    subject: "coffer.\(kind.rawValue)",
    limit: kind == .keychain ? Limit() : Limit(subject: "posix", maximumRatio: 1.5, accepted: 3)
  ) { first, count in
    try await each(first, count) { index in
      let value = Data(Values.bytes(index, size: 64))
      try await engine.commit(WriteBatch([.put(values.keys[values.slot(index)], value)]), from: origin)
    }
  }
  let get = Variant(subject: "coffer.\(kind.rawValue)") { first, count in
    try await grouped(first, count, by: 10) { index in
      let entry = try await engine.entry(values.keys[values.slot(index)])
      precondition(entry?.value.count == 64)
    }
  }
  let others =
    switch kind {
    case .prefs: [userDefaultsPut(values), try replaceByHand(engines.directory, "measure.plist")]
    case .sealed: [try replaceByHand(engines.directory, "measure.sealed")]
    default: [Variant]()
    }
  try await bench.measure("\(kind.rawValue).put", rounds: rounds, count: puts, others + [put])
  try await bench.measure("\(kind.rawValue).get", rounds: rounds, count: gets, [get])
  try await engine.close()
}

/// Measures `UserDefaults`, which overwrites and syncs the file without taking a lock.
private func userDefaultsPut(_ values: Values) -> Variant {
  Variant(subject: "userdefaults") { first, count in
    guard let defaults = UserDefaults(suiteName: "foundation") else { throw Failure("no suite") }
    return await each(first, count) { index in
      let name = String(decoding: values.names[values.slot(index)], as: UTF8.self)
      defaults.set(Data(Values.bytes(index, size: 64)), forKey: name)
      precondition(defaults.synchronize())
    }
  }
}

/// Replaces a file of the size of a store's by hand: a temporary file, a sync, a rename, a sync of the directory.
private func replaceByHand(_ folder: URL, _ name: String) throws -> Variant {
  let path = folder.appendingPathComponent(name).path
  let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  let directory = open(folder.path, O_RDONLY | O_DIRECTORY)
  precondition(directory >= 0)
  return Variant(subject: "posix") { first, count in
    await each(first, count) { _ in
      let file = open(path + ".by-hand.new", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      precondition(write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0)
      close(file)
      precondition(rename(path + ".by-hand.new", path + ".by-hand") == 0 && fsync(directory) == 0)
    }
  }
}
