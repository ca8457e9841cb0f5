import CofferCore
import CofferSecrets
import Foundation

/// The items of a service in the desktop's keyring.
struct KeychainOrigin: ImportOrigin {
  let ignored: [Import.Report.Entry] = []
  private let originals: KeyringOriginals
  var names: [String] { originals.names }

  init(service: String, accessGroup: String?) throws {
    originals = try KeyringOriginals(
      service: service, accessGroup: accessGroup, configuration: KeychainConfiguration())
  }

  func read(_ name: String) throws -> ImportedOriginal? {
    try originals.read(name).map { ImportedOriginal(name: name, data: $0.data, item: $0) }
  }

  func remove(_ found: [ImportedOriginal]) throws -> [Bool] {
    try found.map { original in
      guard let item = original.item else { return false }
      return try originals.remove(item)
    }
  }
}
