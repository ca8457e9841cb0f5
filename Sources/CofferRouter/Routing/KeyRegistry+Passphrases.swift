import Coffer
import CofferEncryption
import Foundation

extension StorageDomain {
  /// The sealed file of the domain and the source of its passphrase, `nil` for that of the router's configuration.
  var sealedFile: (path: String, passphrase: PassphraseSource?)? {
    switch self {
    case .sealed(let file, let passphrase), .chain(_, _, let file, let passphrase):
      (file.standardizedFileURL.path, passphrase)
    case .store(.sealed(let path)): (URL(fileURLWithPath: path).standardizedFileURL.path, nil)
    case .store(.chain(let links)): links.lazy.compactMap { StorageDomain.store($0).sealedFile }.first
    default: nil
    }
  }
}

extension KeyRegistry.Record {
  /// Refuses a key whose sealed file gets its passphrase from another source than a known key names: the first key to
  /// be used would decide.
  /// - Throws: `invalidDeclaration`, which names both keys and both sources.
  func checkPassphrase(besides known: some Sequence<KeyRegistry.Record>) throws {
    guard let own = descriptor.domain.sealedFile else { return }
    for other in known where !other.descriptor.name.utf8.elementsEqual(descriptor.name.utf8) {
      guard let file = other.descriptor.domain.sealedFile, file.path == own.path, file.passphrase != own.passphrase
      else { continue }
      let sources = [file, own].map { $0.passphrase?.nameInCode ?? "StoreOptions.passphrase" }
      throw StorageError(
        .invalidDeclaration,
        "The sealed file has two sources of its passphrase: \(sources[0]) for "
          + "'\(other.key.string.escapingControlCharacters)', and \(sources[1]) for this key.",
        advice: "Declare the domain once, as a constant, and use it for both keys. Nothing was read or written.",
        location: "sealed:\(own.path)", key: key)
    }
  }
}
