import CofferCore
import CofferKeychain
import Foundation

/// The items of a service in the desktop's keyring.
struct LegacyKeychain: LegacyOrigin {
  let ignored: [TakeOverReport.Entry] = []
  private let originals: KeyringOriginals
  private let encoding: LegacyEncoding
  var names: [String] { originals.names }

  init(service: String, accessGroup: String?, _ encoding: LegacyEncoding) throws {
    originals = try KeyringOriginals(
      service: service, accessGroup: accessGroup, configuration: KeychainConfiguration())
    self.encoding = encoding
  }

  func read(_ name: String) throws -> LegacyOriginal? {
    guard let item = try originals.read(name) else { return nil }
    return LegacyOriginal(name: name, value: try encoding.decode(item.data), item: item)
  }

  func remove(_ found: [LegacyOriginal]) throws -> [Bool] {
    try found.map { original in
      guard let item = original.item else { return false }
      return try originals.remove(item)
    }
  }
}
