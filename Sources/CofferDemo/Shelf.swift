import Coffer
import Foundation

/// The directory of the second part, and what each file in it must hold.
///
/// What it finds out about the directory it finds out without Coffer, as any other program would.
final class Shelf {
  let directory: URL
  /// What was confirmed: the bytes of each value.
  private(set) var values: [StoreKey: Data] = [:]

  /// JSON that people can read, and the same bytes for the same product in every process.
  static let codec: JSONCodec = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return JSONCodec(encoder: encoder, decoder: JSONDecoder())
  }()

  init(_ directory: URL) { self.directory = directory }

  /// The keys in their order.
  var keys: [StoreKey] { values.keys.sorted() }

  /// The most products that become files: each file is synced to the disk, and a slow disk must not make people wait.
  private static let limit = 1_000

  /// Names each product by its handle, which people can read; shops that share a handle get a number behind it.
  static func items(_ catalogue: Catalogue) throws -> [Item] {
    var taken: Set<StoreKey> = []
    return try catalogue.items.prefix(limit).map { item in
      let handle = item.product.handle
      var key = try StoreKey("\(handle).json")
      var number = 1
      while !taken.insert(key).inserted {
        number += 1
        key = try StoreKey("\(handle).\(number).json")
      }
      return Item(key: key, product: item.product)
    }
  }

  func expect(_ value: Data, for key: StoreKey) { values[key] = value }

  static func name(_ key: StoreKey) -> String { FileName(key).string }
  func path(_ key: StoreKey) -> String { directory.appendingPathComponent(Self.name(key)).path }

  // MARK: From outside

  /// The bytes of a file; `nil` when there is none.
  func bytes(of key: StoreKey) -> Data? { FileManager.default.contents(atPath: path(key)) }

  struct Comparison {
    /// Files that hold the bytes of their value.
    var equal = 0
    /// Files that nobody expects.
    var strangers = 0
    let expected: Int
    var isExact: Bool { equal == expected && strangers == 0 }
    /// What is wrong, or how many files are right.
    var count: Int { isExact ? equal : expected - equal + strangers }
  }

  /// Compares the whole directory, byte by byte, with what it must hold.
  func compare() throws -> Comparison {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasPrefix(".") }
    let equal = values.filter { bytes(of: $0) == $1 }.count
    let strangers = Set(names).subtracting(values.keys.map(Self.name)).count
    return Comparison(equal: equal, strangers: strangers, expected: values.count)
  }

  // MARK: Through Coffer

  /// Opens the directory, and closes it again whatever happens.
  func withEngine<R>(
    _ configuration: SlotConfiguration = SlotConfiguration(), _ body: (SlotEngine) async throws -> R
  ) async throws -> R {
    try await closing(try await SlotEngine.files(in: directory, configuration: configuration), after: body)
  }

  /// How many values, but one perhaps, a handle reads as they must be.
  func countReadable(_ engine: SlotEngine, except victim: StoreKey? = nil) async throws -> Int {
    var equal = 0
    for (key, value) in values where key != victim {
      if try await engine.entry(key)?.value == value { equal += 1 }
    }
    return equal
  }
}

extension Stage {
  /// Checks that the directory holds each value, byte by byte, and no other file.
  func checkFiles(_ what: String = "files, each exactly its value, and no others") throws {
    let found = try shelf.compare()
    check(found.isExact, found.isExact ? what : "files missing, wrong or too many", count: found.count)
  }
}

/// Runs one command of the shell in a directory, with the name of a file as `$f`, and returns what it prints.
func shell(_ command: String, in directory: URL, file: String = "") throws -> String {
  let process = Process()
  let output = Pipe()
  process.executableURL = URL(fileURLWithPath: "/bin/sh")
  process.arguments = ["-c", command]
  process.currentDirectoryURL = directory
  process.environment = ProcessInfo.processInfo.environment.merging(["f": file, "LC_ALL": "C"]) { $1 }
  process.standardOutput = output
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw DemoError("'\(command)' has failed with exit code \(process.terminationStatus)")
  }
  return text
}

extension Console {
  /// A command and what it printed, as in a terminal.
  func shell(_ command: String, _ output: String = "") {
    func fitting(_ text: some StringProtocol) -> String { text.count <= 76 ? "\(text)" : "\(text.prefix(73))..." }
    line("   " + styled(fitting("$ \(command)"), .bold))
    for text in output.split(separator: "\n") { line("   " + fitting(text)) }
  }

  /// A sentence that may be longer than a line.
  func sentence(_ text: String) {
    var row = ""
    for word in text.split(separator: " ") {
      if row.count + word.count > 74 {
        line("  " + row)
        row = ""
      }
      row += " " + word
    }
    line("  " + row)
  }
}
