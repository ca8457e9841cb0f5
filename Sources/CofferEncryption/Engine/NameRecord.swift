import CofferCore
import Foundation

/// A name or a cleared prefix in the journal of a store with hidden names: a commit removes records of these names,
/// which never exist, so that its journal row carries them to every process.
///
/// A record's name has at most 1,024 bytes and the envelope of a long name more, so that it may continue in the next
/// record. `docs/formats/encryption.md` describes both.
struct NameRecord: Hashable, Sendable {
  enum Kind: Hashable, Sendable, CaseIterable {
    /// The name of a key that was put or deleted.
    case key
    /// A prefix that was cleared.
    case prefix

    /// The beginning of the record's name; `-` instead of `/` if it continues in the next record.
    private var start: String {
      switch self {
      case .key: "encryption.k"
      case .prefix: "encryption.p"
      }
    }
    /// The key to which the envelope of such a name is bound.
    var context: StoreKey {
      switch self {
      case .key: "encryption.k"
      case .prefix: "encryption.p"
      }
    }
    /// The format to which the envelope is bound; that of values is 1.
    var format: UInt8 {
      switch self {
      case .key: 2
      case .prefix: 3
      }
    }

    /// Returns the names of the records that carry a sealed name.
    func records(of sealed: Data) throws -> [SystemRecordName] {
      var rest = sealed.base64URL[...]
      var records: [SystemRecordName] = []
      repeat {
        let part = rest.prefix(NameRecord.partSize)
        rest = rest.dropFirst(part.utf8.count)
        records.append(try SystemRecordName(start + (rest.isEmpty ? "/" : "-") + part))
      } while !rest.isEmpty
      return records
    }

    /// Returns the part of an envelope in a record's name and whether the next record continues it; `nil` for the name
    /// of another record.
    func part(of record: SystemRecordName) -> (text: Substring, continues: Bool)? {
      let text = record.description
      guard text.hasPrefix(start) else { return nil }
      let rest = text.dropFirst(start.utf8.count)
      switch rest.first {
      case "/": return (rest.dropFirst(), false)
      case "-": return (rest.dropFirst(), true)
      default: return nil
      }
    }
  }

  /// The number of characters of an envelope in one record.
  private static let partSize = 1_000

  let kind: Kind
  let name: StoreKey

  /// Separates the records of a commit that carry names, each with those that continue it, from others.
  static func split(_ records: [SystemRecordName]) -> (
    names: [ArraySlice<SystemRecordName>], others: [SystemRecordName]
  ) {
    var (names, others): ([ArraySlice<SystemRecordName>], [SystemRecordName]) = ([], [])
    var start = records.startIndex
    for index in records.indices {
      guard let part = Kind.allCases.lazy.compactMap({ $0.part(of: records[index]) }).first else {
        others.append(records[index])
        start = index + 1
        continue
      }
      if !part.continues {
        names.append(records[start...index])
        start = index + 1
      }
    }
    return (names, others)
  }

  /// Returns the envelope that records carry; `nil` if they are malformed.
  static func sealed(in records: ArraySlice<SystemRecordName>) -> (Kind, Data)? {
    guard let first = records.first, let kind = Kind.allCases.first(where: { $0.part(of: first) != nil }) else {
      return nil
    }
    var text = ""
    for record in records {
      guard let part = kind.part(of: record) else { return nil }
      text += part.text
    }
    return Data(base64URL: text).map { (kind, $0) }
  }
}

extension SystemRecordName {
  /// Whether the record belongs to the encryption of its store, which alone writes it.
  var isReserved: Bool {
    let text = description
    return text == "encryption" || text.hasPrefix("encryption.")
  }
}
