import Coffer
import Foundation

/// The homes whose changes other processes hear.
enum Home: String, CaseIterable, Sendable {
  case sqlite, file, prefs, sealed, keychain
}

/// Homes in a directory of the measurement's own, with a keyring of its own where one is installed.
final class Homes {
  let directory: URL
  private var children: [Process] = []
  private(set) var all = Home.allCases.filter { $0 != .keychain }

  /// Begins new ones. From here on the process has other directories and another session bus.
  init(in directory: URL) throws {
    self.directory = directory
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "XDG_RUNTIME_DIR"] { setenv(name, directory.path, 1) }
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] { unsetenv(name) }
    if try startKeyring() { all.append(.keychain) }
  }

  /// Uses those of another process, whose environment this one has.
  init(joining directory: URL) { self.directory = directory }

  func end() {
    // A keyring takes its time to end when it is asked to.
    for child in children.reversed() where child.isRunning {
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
    }
  }

  func open(_ home: Home, _ name: String) async throws -> any StorageEngine {
    switch home {
    case .sqlite: try await SQLiteEngine.open(at: directory.appendingPathComponent(name + ".db").path)
    case .file: try await SlotEngine.files(in: directory.appendingPathComponent(name + ".files"))
    case .prefs: try await SlotEngine.preferences(suite: name)
    case .sealed:
      try await SlotEngine.sealed(
        at: directory.appendingPathComponent(name + ".sealed"), passphrase: .provided { Data("measure".utf8) })
    case .keychain: try await SlotEngine.keychain(service: name)
    }
  }

  /// Whether there is one now.
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

/// One value stored and read, in a home with 100 values.
func measureHome(_ bench: inout Bench, _ home: Home, _ homes: Homes) async throws {
  guard [.prefs, .sealed, .keychain].contains(home) else { return }  // The others have rows of their own.
  let values = try Values(count: 100)
  let engine = try await homes.open(home, "measure")
  let origin = StoreOrigin()
  let operations = values.keys.indices.map {
    WriteBatch.Operation.put(values.keys[$0], Data(Values.bytes($0, size: 64)))
  }
  try await engine.commit(WriteBatch(operations), from: origin)
  let (rounds, puts, gets) = home == .keychain ? (2, 30, 100) : (3, 60, 1_000)
  let put = Variant(
    subject: "coffer.\(home.rawValue)",
    limit: home == .prefs ? Limit(subject: "userdefaults", maximumRatio: 3) : Limit()
  ) { first, count in
    try await each(first, count) { index in
      let value = Data(Values.bytes(index, size: 64))
      try await engine.commit(WriteBatch([.put(values.keys[values.slot(index)], value)]), from: origin)
    }
  }
  let get = Variant(subject: "coffer.\(home.rawValue)") { first, count in
    try await grouped(first, count, by: 10) { index in
      let entry = try await engine.entry(values.keys[values.slot(index)])
      precondition(entry?.value.count == 64)
    }
  }
  let foundation = home == .prefs ? [userDefaultsPut(values)] : []
  try await bench.measure("\(home.rawValue).put", rounds: rounds, count: puts, foundation + [put])
  try await bench.measure("\(home.rawValue).get", rounds: rounds, count: gets, [get])
  try await engine.close()
}

/// Foundation's own: it writes over the file in place, syncs it, and takes no lock.
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
