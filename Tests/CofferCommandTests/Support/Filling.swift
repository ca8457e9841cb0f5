import Coffer
import Foundation
import Testing

extension Sandbox {
  /// Stores values in one commit, which is faster than a process for each.
  func fill(_ name: String = "store.db", values: [(KeyName, Data)]) async throws {
    let engine = try await SQLiteEngine.open(at: path(name))
    try await engine.commit(WriteBatch(values.map { .put($0.0, $0.1) }), from: StoreOrigin())
    try await engine.close()
  }

  /// Stores `count` different values of 100 bytes, under the keys `k00001` and so on.
  func fill(_ name: String = "store.db", count: Int) async throws {
    try await fill(
      name,
      values: (1...count).map { number in
        let text = "k" + String(String(100_000 + number).dropFirst())
        return (try KeyName(text), Data(text.utf8) + Data(repeating: UInt8(number & 255), count: 94))
      })
  }

  /// Returns every value of a store.
  func contents(_ name: String) async throws -> [KeyName: Data] {
    let engine = try await SQLiteEngine.open(at: path(name))
    let entries = try await engine.withSnapshot { snapshot in
      var found: [StoreEntry] = []
      while true {
        let page = try await snapshot.page(prefix: nil, after: found.last?.key, limit: 1_000)
        if page.isEmpty { return found }
        found += page
      }
    }
    try await engine.close()
    return Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
  }
}

/// Overwrites the page of a closed store's file that contains a value, as a failing disk might.
func destroyPage(holding key: String, in path: String) throws {
  var file = try Data(contentsOf: URL(fileURLWithPath: path))
  let size = 4_096
  for start in stride(from: size, to: file.count, by: size) {
    // A leaf page of a table without rowid begins with 10; the journal, which also contains keys, has other pages.
    guard file[start] == 10, file[start..<start + size].range(of: Data(key.utf8)) != nil else { continue }
    file.replaceSubrange(start..<start + size, with: Data(repeating: 0xFF, count: size))
    return try file.write(to: URL(fileURLWithPath: path))
  }
  Issue.record("No page has \(key).")
}
