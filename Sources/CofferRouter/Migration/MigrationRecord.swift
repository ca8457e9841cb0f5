package import CofferCore
package import Foundation

/// The stored form of a ``MigrationLog``: a line with the magic word, the format and a checksum of everything else,
/// followed by the entry in JSON.
package struct MigrationRecord: Hashable, Sendable {
  private static let format = 1
  private static let magic = "coffer-migrations"

  let entry: MigrationLog.Entry

  init(_ entry: MigrationLog.Entry) { self.entry = entry }

  /// Returns `nil` if the record is damaged.
  /// - Throws: `newerFormat`.
  package init?(decoding content: Data, of key: KeyName, at location: String) throws {
    guard let end = content.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let words = String(decoding: content[..<end], as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    let body = Data(content[content.index(after: end)...])
    guard words.count == 3, words[0] == Self.magic, let format = Int(words[1]),
      words[2] == Self.checksum(format, body)
    else { return nil }
    guard format <= Self.format else {
      throw StorageError(
        .newerFormat, "A newer version of the application has migrated the key, and recorded it in format \(format).",
        advice: "Use that version. Nothing was changed.", location: location, key: key)
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .millisecondsSince1970
    guard let entry = try? decoder.decode(MigrationLog.Entry.self, from: body) else { return nil }
    self.entry = entry
  }

  package func encoded() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.dateEncodingStrategy = .millisecondsSince1970
    return Self.sealed(try encoder.encode(entry))
  }

  /// Returns a record with any content.
  package static func sealed(_ body: Data) -> Data {
    Data("\(magic) \(format) \(checksum(format, body))\n".utf8) + body
  }

  /// A checksum of a record in any format, this one and later ones.
  private static func checksum(_ format: Int, _ body: Data) -> String {
    MigrationLog.hash("\(format)\n" + String(decoding: body, as: UTF8.self))
  }
}
