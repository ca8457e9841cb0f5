import Coffer
import CofferEncryption
import Foundation

/// An encrypted database of orders, its key, and a plain database with the same orders.
struct Vault {
  /// An order, whose name and value no file may reveal.
  struct Order: Sendable {
    let key: KeyName
    let value: Data
    /// The words that a thief searches for: one in the name, one in the value.
    let words: [String]
  }

  let folder: URL
  let orders: [Order]

  var encrypted: String { folder.appendingPathComponent("encrypted/shop.db").path }
  var plain: String { folder.appendingPathComponent("plain/shop.db").path }
  var key: URL { folder.appendingPathComponent("shop.key") }
  var otherKey: URL { folder.appendingPathComponent("other.key") }
  /// The file with the words, one in each line.
  var words: URL { folder.appendingPathComponent("words") }

  /// Creates the folders, the orders and two random keys.
  init(in folder: URL, orders count: Int, of catalogue: Catalogue) throws {
    self.folder = folder
    var random = SystemRandomNumberGenerator()
    func word(_ start: String) -> String { start + String(random.next(), radix: 36) + String(random.next(), radix: 36) }
    orders = try (0..<count).map { number in
      let (name, card) = (word("customer-"), word("card-"))
      let title = catalogue.items[number % catalogue.items.count].product.title
      let value = try JSONEncoder().encode(["title": title, "card": card])
      return Order(key: try KeyName("orders/\(name)"), value: value, words: [name, card])
    }
    let files = FileManager.default
    for name in ["encrypted", "plain", "stolen"] {
      try files.createDirectory(at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
    }
    for url in [key, otherKey] {
      let bytes = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
      guard files.createFile(atPath: url.path, contents: bytes, attributes: [.posixPermissions: 0o600]) else {
        throw DemoError("the key \(url.path) cannot be created")
      }
    }
    try Data(orders.flatMap(\.words).joined(separator: "\n").utf8).write(to: words)
  }

  /// Opens the encrypted database at a path with a key.
  static func open(_ path: String, key: URL, over decorate: (any StorageEngine) -> any StorageEngine = { $0 })
    async throws -> EncryptedEngine
  {
    let base = try await SQLiteEngine.open(at: path)
    var settings = EncryptionSettings()
    (settings.hidesNames, settings.padsValues) = (true, true)
    do {
      return try await EncryptedEngine.open(
        decorate(base), key: .file(key), configuration: EncryptedEngine.Configuration(settings: settings))
    } catch {
      try? await base.close()
      throw error
    }
  }

  /// Returns the number of orders that an engine returns as they were saved.
  func readable(in engine: any StorageEngine) async throws -> Int {
    let entries = try await engine.entries(orders.map(\.key))
    return zip(orders, entries).filter { $0.value == $1?.value }.count
  }

  /// Searches all files of a folder for the words, and returns how many of them are found.
  func found(in folder: String, _ console: Console) throws -> Int {
    let command = #"grep -raohF -f "$f" . | sort -u | wc -l"#
    let output = try shell(command, in: self.folder.appendingPathComponent(folder), file: words.path)
    console.shell("cd \(folder); grep -raohF -f words . | sort -u | wc -l", output)
    return Int(output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
  }
}
