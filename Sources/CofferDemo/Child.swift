import CofferCore
import CofferVault
import Foundation

/// A second process of this program, whose output is read line by line with a deadline for each line.
final class Child {
  private let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var buffer: [UInt8] = []
  private var start = 0

  init(_ command: ChildCommand, _ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    process.arguments = [command.rawValue] + arguments
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    Cleanup.watch(child: process.processIdentifier)
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  deinit { stop() }

  /// Returns the next line, or `nil` at the end of the output.
  /// - Throws: `DemoError` if no line arrives within the deadline.
  func line(within milliseconds: Int32 = 15_000) throws -> String? {
    while true {
      if let end = buffer[start...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        return String(decoding: buffer[start..<end], as: UTF8.self)
      }
      buffer.removeSubrange(..<start)
      start = 0
      var wait = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&wait, 1, milliseconds)
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else {
        throw DemoError("the second process has printed nothing for \(milliseconds / 1_000) seconds")
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer += more
    }
  }

  /// Returns the remaining lines up to the end of the output.
  func lines() throws -> [String] {
    var lines: [String] = []
    while let line = try line() { lines.append(line) }
    return lines
  }

  func tell(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// Sends SIGKILL, which the process can neither catch nor prepare for.
  func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

  /// Whether the process was ended by SIGKILL rather than by itself.
  var wasKilled: Bool { process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL }

  func stop() {
    if process.isRunning { kill() }
    process.waitUntilExit()
    Cleanup.watch(child: nil)
  }
}

/// The commands of a second process. They are internal and therefore not part of the help.
enum ChildCommand: String {
  case watch = "__watch"
  case save = "__save"
  case replace = "__replace"
  case defaults = "__defaults"
  case rotate = "__rotate"

  private var argumentCount: Int {
    switch self {
    case .watch, .save, .rotate: 2
    case .replace: 3
    case .defaults: 1
    }
  }

  func run(_ arguments: [String]) async throws {
    endWithParent()
    guard arguments.count == argumentCount else { throw UsageError("\(rawValue) needs \(argumentCount) arguments.") }
    switch self {
    case .watch: try await watch(store: arguments[0], last: arguments[1])
    case .defaults: useDefaults(arguments[0])
    case .rotate: try await rotate(store: arguments[0], key: URL(fileURLWithPath: arguments[1]))
    case .save: try await save(store: arguments[0], round: UInt64(arguments[1]) ?? 0)
    case .replace:
      guard let point = KillPoint(rawValue: arguments[2]) else { throw UsageError("There is no such point.") }
      try await replace(in: URL(fileURLWithPath: arguments[0]), round: Int(arguments[1]) ?? 0, until: point)
    }
  }

  /// Prints changes by other handles until the key `last` has changed.
  private func watch(store path: String, last: String) async throws {
    let vault: any SwiftVaultService =
      Options.isFolder(path)
      ? try SwiftVault.fileSystem(location: .custom(directory: URL(fileURLWithPath: path)))
      : try await SwiftVault.database(at: path)
    let changes = vault.externalChanges
    say("ready")
    for await (key, transaction) in changes {
      let now = monotonicNanoseconds()
      say("heard \(now) \(transaction?.uuidString ?? "-") \(key ?? "-")")
      if key == last { return }
    }
  }

  /// Saves batches of products until the process is killed, and prints when each one begins and is confirmed.
  private func save(store path: String, round: UInt64) async throws {
    let store = TypedStore(engine: try await SQLiteEngine.open(at: path))
    for number in 0... {
      let batch = try PlugBatch(round: round, number: number)
      say("begin \(number)")
      try await store.saveAll(batch.items.map { ($0.key, $0.product) })
      say("confirmed \(number)")
    }
  }

  /// Replaces the first files of a directory with consecutive batches. The last batch pauses at `point`, where the
  /// process is killed.
  private func replace(in directory: URL, round: Int, until point: KillPoint) async throws {
    let isArmed = Locked(false)
    let configuration = point.configuration(isArmed: isArmed) {
      say("there")
      while true { pause() }
    }
    let engine = try await SlotEngine.files(in: directory, configuration: configuration)
    let store = TypedStore(engine: engine, codec: Shelf.codec)
    let keys = try await engine.withSnapshot { try await $0.summaries(prefix: nil, after: nil, limit: FileBatch.size) }
      .map(\.key)
    let products = try await store.loadAll(Product.self, keys: keys).compactMap { $0 }
    for number in 1...FileBatch.last {
      if number == FileBatch.last { isArmed.withLock { $0 = true } }
      say("begin \(number)")
      try await store.saveAll(zip(keys, products).map { ($0, FileBatch.product($1, round, number)) })
      say("confirmed \(number)")
    }
  }

  /// Rotates the data key of an encrypted store up to its third commit, where the process is killed.
  private func rotate(store path: String, key: URL) async throws {
    let engine = try await Vault.open(path, key: key) { base in
      BlockingEngine(base, afterCommits: 3) {
        say("there")
        while true { pause() }
      }
    }
    say("rotating")
    _ = try await engine.rotate().result()
  }

  /// Reads and writes a suite with Foundation alone, like a program that does not use Coffer.
  private func useDefaults(_ suite: String) {
    guard let defaults = UserDefaults(suiteName: suite) else { return }
    say(defaults.string(forKey: "theme") ?? "nothing")
    say("\(defaults.integer(forKey: "syncIntervalMinutes"))")
    say("\((defaults.object(forKey: "lastSync") as? Date)?.timeIntervalSinceReferenceDate ?? 0)")
    _ = readLine()
    defaults.set("light", forKey: "theme")
    say("\(defaults.synchronize())")
  }

  private func say(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

  /// Ends the process when the parent's end of the pipe closes, which the end of the parent always causes.
  private func endWithParent() {
    guard self != .defaults else { return }  // It reads standard input itself and ends after that.
    Thread {
      while FileHandle.standardInput.availableData.count > 0 {}
      exit(1)
    }.start()
  }
}

/// Five products that are saved in one batch. Both processes derive the same products from the round and the number.
struct PlugBatch {
  static let size = 5
  let items: [Item]

  static func prefix(round: UInt64) throws -> KeyName { try KeyName("plug/\(round)/") }

  init(round: UInt64, number: Int) throws {
    var generator = Generator(seed: round << 32 | UInt64(number))
    items = try generator.products(Self.size).enumerated().map { index, product in
      Item(key: try KeyName("plug/\(round)/\(number)/\(index)"), product: product)
    }
  }
}
