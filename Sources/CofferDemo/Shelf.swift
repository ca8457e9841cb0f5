import Coffer
import CofferFiles
import Foundation

/// The directory of the second part, with the expected content of each file.
///
/// The directory is inspected without Coffer, as another program would do it.
final class Shelf {
  let directory: URL
  /// The confirmed bytes of each value.
  private(set) var values: [KeyName: Data] = [:]

  /// A codec for readable JSON that encodes the same product to the same bytes in every process.
  static let codec: JSONCodec = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return JSONCodec(encoder: encoder, decoder: JSONDecoder())
  }()

  init(_ directory: URL) { self.directory = directory }

  /// The keys, sorted.
  var keys: [KeyName] { values.keys.sorted() }

  /// The maximum number of products that are stored as files, since each file is synced and disks may be slow.
  private static let limit = 1_000

  /// Returns the products with readable keys made of their handles; a number is appended to handles that recur.
  static func items(_ catalogue: Catalogue) throws -> [Item] {
    var taken: Set<KeyName> = []
    return try catalogue.items.prefix(limit).map { item in
      let handle = item.product.handle
      var key = try KeyName("\(handle).json")
      var number = 1
      while !taken.insert(key).inserted {
        number += 1
        key = try KeyName("\(handle).\(number).json")
      }
      return Item(key: key, product: item.product)
    }
  }

  func expect(_ value: Data, for key: KeyName) { values[key] = value }

  static func name(_ key: KeyName) -> String { FileName(key).string }
  func path(_ key: KeyName) -> String { directory.appendingPathComponent(Self.name(key)).path }

  // MARK: From outside

  /// Returns the bytes of a file, or `nil` if it does not exist.
  func bytes(of key: KeyName) -> Data? { FileManager.default.contents(atPath: path(key)) }

  struct Comparison {
    /// The number of files with exactly the bytes of their value.
    var equal = 0
    /// The number of unexpected files.
    var strangers = 0
    let expected: Int
    var isExact: Bool { equal == expected && strangers == 0 }
    /// The number of differences, or the number of files if there is no difference.
    var count: Int { isExact ? equal : expected - equal + strangers }
  }

  /// Compares the whole directory, byte by byte, with its expected content.
  func compare() throws -> Comparison {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasPrefix(".") }
    let equal = values.filter { bytes(of: $0) == $1 }.count
    let strangers = Set(names).subtracting(values.keys.map(Self.name)).count
    return Comparison(equal: equal, strangers: strangers, expected: values.count)
  }

  // MARK: Through Coffer

  /// Opens the directory, calls `body`, and closes the engine even when `body` throws.
  func withEngine<R>(
    _ configuration: SlotEngine.Configuration = SlotEngine.Configuration(), _ body: (SlotEngine) async throws -> R
  ) async throws -> R {
    try await closing(try await SlotEngine.files(in: directory, configuration: configuration), after: body)
  }

  /// Returns the number of values, except `victim`, that are read as expected.
  func countReadable(_ engine: SlotEngine, except victim: KeyName? = nil) async throws -> Int {
    var equal = 0
    for (key, value) in values where key != victim {
      if try await engine.entry(key)?.value == value { equal += 1 }
    }
    return equal
  }
}

extension Stage {
  /// Checks that the directory contains each value, byte by byte, and no other file.
  func checkFiles(_ what: String = "files, each exactly its value, and no others") throws {
    let found = try shelf.compare()
    check(found.isExact, found.isExact ? what : "files missing, wrong or too many", count: found.count)
  }
}

/// Runs a shell command in a directory, with the name of a file as `$f`, and returns its output.
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
    throw DemoError("'\(command)' failed with exit code \(process.terminationStatus)")
  }
  return text
}

extension Console {
  /// Prints a command and its output as a terminal shows them.
  func shell(_ command: String, _ output: String = "") {
    func fitting(_ text: some StringProtocol) -> String { text.count <= 76 ? "\(text)" : "\(text.prefix(73))..." }
    line("   " + styled(fitting("$ \(command)"), .bold))
    for text in output.split(separator: "\n") { line("   " + fitting(text)) }
  }

  /// Prints a sentence, wrapped to lines.
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
