import CofferCore
import CofferFiles
import Foundation

/// The entries of a property list.
struct PropertyListOrigin: ImportOrigin {
  let names: [String]
  let ignored: [Import.Report.Entry]
  private let values: [KeyName: PreferenceValue]
  private let keepsTypes: Bool
  private let isDecoded: Bool

  init(_ path: String, keepsTypes: Bool, isDecoded: Bool) throws {
    let data = try importedFile(path)
    guard !data.starts(with: Data("SQLite format 3\0".utf8)) else {
      throw StorageError(
        .unsupported, "The file is a SQLite database, not a property list.",
        advice: "Name its table and the columns with the names and the values. Nothing was changed.", location: path)
    }
    let document: PropertyListDocument
    do {
      document = try PropertyListFormat().decode(data)
    } catch let error as StorageError {
      throw error.locating(at: path)
    }
    values = document.values
    names = document.values.keys.map(\.string).sorted()
    ignored = document.others.map { .init(name: $0.name, outcome: .skipped(reason: "its name is no key")) }
    self.keepsTypes = keepsTypes
    self.isDecoded = isDecoded
  }

  func read(_ name: String) throws -> ImportedOriginal? {
    guard let value = values[try KeyName(name)] else { return nil }
    if !isDecoded, let data = value.data { return ImportedOriginal(name: name, data: data) }
    let attributes = keepsTypes ? value.attributes : .none
    return ImportedOriginal(name: name, data: value.bytes, attributes: attributes, isDecoded: true)
  }
}
