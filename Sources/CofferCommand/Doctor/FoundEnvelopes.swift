import Coffer
import CofferFileSystem
import CofferFiles
import CofferSQLite
import Foundation

/// The values in files or preferences that begin like envelopes, as they are found without their records.
///
/// An application may keep envelopes of its own as values. The journal of the store describes those as plain values.
struct FoundEnvelopes {
  /// The file names, or the keys of the preferences.
  private let names: Set<KeyName>
  private let name: (KeyName) throws -> KeyName
  private let content: (KeyName) throws -> Data?

  var isEmpty: Bool { names.isEmpty }

  init(files directory: String, location: String) throws {
    names = Set(try ForeignFiles.envelopes(in: directory, location: location).map { try KeyName($0) })
    name = { try KeyName(FileName($0).string) }
    content = { try Directory(directory, location: location).read(FileName($0).string, limit: 1 << 30)?.data }
  }

  init(preferences path: String) throws {
    let values = try PreferencesInspection.inspect(path)?.sealed ?? [:]
    names = Set(values.keys)
    name = { $0 }
    content = { values[$0] }
  }

  /// Whether one of them is not what a journal without a key ring describes as a plain value.
  func areLost(by journal: SQLiteEngine) async throws -> Bool {
    var lost = names
    guard !lost.isEmpty else { return false }
    try await Listing(journal, of: StoreEntry.self).visit { item in
      guard case .found(let row) = item, try lost.contains(name(row.key)),
        let record = row.value.withUnsafeBytes({ SlotRecord($0) }), !record.attributes.isSealed,
        let data = try content(row.key), record.describes(row.key, data)
      else { return }
      lost.remove(try name(row.key))
    }
    return !lost.isEmpty
  }
}
