import CofferCore
import CofferTerminal
import CofferVault
import Foundation

/// A second process of this program, whose output is read line by line.
final class Child {
  private let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var buffer = Data()

  init(_ command: ChildCommand, _ argument: String) throws {
    process.executableURL = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    process.arguments = [command.rawValue, argument]
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    Cleanup.watch(child: process.processIdentifier)
    try output.fileHandleForWriting.close()
  }

  deinit { kill() }

  /// Returns the next line, or `nil` at the end of the output.
  func line() -> String? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        defer { buffer = Data(buffer[(end + 1)...]) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer += more
    }
  }

  /// Returns the remaining lines up to the end of the output.
  func lines() -> [String] { Array(AnyIterator(line)) }

  /// Ends the process with SIGKILL, which it can neither catch nor prepare for.
  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    Cleanup.watch(child: nil)
  }
}

/// The commands of a second process, which are not part of the help.
enum ChildCommand: String {
  case watch = "__watch"
  case save = "__save"
  case defaults = "__defaults"

  func run(_ argument: String) async throws {
    endWithParent()
    switch self {
    case .watch: try await watch(argument)
    case .save: try await save(argument)
    case .defaults: try useDefaults(argument)
    }
  }

  /// Prints the keys that other processes change in a store, until the key `last` changes.
  private func watch(_ path: String) async throws {
    let vault = try await SwiftVault.database(at: path)
    defer { withExtendedLifetime(vault) {} }
    let changes = vault.externalChanges
    try printLine("ready")
    for await (key, _) in changes {
      try printLine(key ?? "-")
      if key == "last" { return }
    }
  }

  /// Saves batches of products until the process is killed, and prints the number of each that is confirmed.
  private func save(_ path: String) async throws {
    let store = TypedStore(engine: try await SQLiteEngine.open(at: path))
    for number in 0... {
      try await store.saveAll(batch(number).map { (try KeyName.numbered($0, in: "plug"), Product(number: $0)) })
      try printLine("\(number)")
    }
  }

  /// Uses a suite with Foundation alone, like a program that does not know Coffer: reads it, then changes the theme.
  private func useDefaults(_ suite: String) throws {
    guard let defaults = UserDefaults(suiteName: suite) else { throw DemoError("there is no suite '\(suite)'") }
    try printLine("\(defaults.string(forKey: "theme") ?? "-"), \(defaults.integer(forKey: "syncMinutes"))")
    defaults.set("light", forKey: "theme")
    defaults.synchronize()
  }

  /// Ends the process when the parent's end of the pipe closes, which the end of the parent always causes.
  private func endWithParent() {
    Thread {
      while FileHandle.standardInput.availableData.count > 0 {}
      exit(1)
    }.start()
  }
}

/// The numbers of the products that are saved in one batch.
func batch(_ number: Int) -> Range<Int> { number * 5..<number * 5 + 5 }

/// The resources that must not outlive the program: its second process and its temporary folder.
enum Cleanup {
  private static let state = Locked((child: Int32?.none, folder: URL?.none))

  static func watch(child: Int32?) { state.withLock { $0.child = child } }
  static func remove(_ folder: URL) { state.withLock { $0.folder = folder } }

  static func exit(_ code: Int32) -> Never {
    let (child, folder) = state.withLock { $0 }
    if let child { kill(child, SIGKILL) }
    if let folder { try? FileManager.default.removeItem(at: folder) }
    Foundation.exit(code)
  }
}
