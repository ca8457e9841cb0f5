package import CofferCore
package import Foundation

/// Random names and values of which a test searches every file of a store.
package struct SecretSample: Sendable {
  package let names: [KeyName]
  package let values: [Data]

  /// - Parameter seed: the same seed yields the same sample.
  package init(count: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func word() -> String {
      (0..<24).map { _ in String(Int.random(in: 0..<36, using: &random), radix: 36) }.joined()
    }
    names = try (0..<count).map { _ in try KeyName(word()) }
    values = (0..<count).map { _ in Data((0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }) }
  }

  /// Commits the sample: each value by itself, then some of them again, in batches, and with damage to nothing.
  package func fill(_ engine: any StorageEngine) async throws {
    let origin = StoreOrigin()
    for (name, value) in zip(names, values) {
      try await engine.commit(WriteBatch([.put(name, value)], durability: .relaxed), from: origin)
    }
    for start in stride(from: 0, to: names.count, by: 100) {
      let end = min(start + 100, names.count)
      let puts = zip(names[start..<end], values[start..<end]).map { WriteBatch.Operation.put($0, $1) }
      try await engine.commit(WriteBatch(puts), from: origin)
    }
    // Removed names and cleared prefixes are in the journal, too; the values are put again.
    try await engine.commit(WriteBatch([.delete(names[0]), .clear(prefix: names[1])]), from: origin)
    try await engine.commit(WriteBatch([.put(names[0], values[0]), .put(names[1], values[1])]), from: origin)
  }

  /// Returns how many names and values occur in the contents and the names of all files below a directory, in plain,
  /// in hexadecimal digits or in base64 of either alphabet at any offset.
  package func findings(in directory: URL) throws -> (names: Int, values: Int) {
    var needles: [UInt64: Int] = [:]
    for (index, bytes) in (names.map { Data($0.string.utf8) } + values).enumerated() {
      for form in Self.forms(of: bytes) {
        needles[form.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }] = index
      }
    }
    var found: Set<Int> = []
    for content in try Self.contents(of: directory) where content.count >= 8 {
      content.withUnsafeBytes { bytes in
        for offset in 0...(bytes.count - 8) {
          if let index = needles[bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)] { found.insert(index) }
        }
      }
    }
    return (found.count { $0 < names.count }, found.count { $0 >= names.count })
  }

  /// Returns the encoded forms of bytes, of which the first eight identify them.
  private static func forms(of bytes: Data) -> [Data] {
    func hexadecimal(_ digits: String) -> Data {
      let digits = Array(digits.utf8)
      return Data(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
    var forms = [bytes, hexadecimal("0123456789abcdef"), hexadecimal("0123456789ABCDEF")]
    for offset in 0..<3 {
      // The first characters also depend on what precedes the bytes.
      let text = (Data(count: offset) + bytes).base64EncodedString().dropFirst(offset == 0 ? 0 : 4)
      forms.append(Data(text.utf8))
      forms.append(Data(text.replacing("+", with: "-").replacing("/", with: "_").utf8))
    }
    return forms
  }

  /// Returns the contents of all files below a directory, and their names as one more.
  private static func contents(of directory: URL) throws -> [Data] {
    var contents: [Data] = []
    var names = Data()
    let files = FileManager.default.enumerator(atPath: directory.path)
    while let name = files?.nextObject() as? String {
      names += Data(name.utf8)
      // A file may be replaced meanwhile, for example a staged one.
      if let content = FileManager.default.contents(atPath: directory.path + "/" + name) { contents.append(content) }
    }
    return contents + [names]
  }
}
