import CofferCore
import CofferEncryption
import CofferFileSystem
import Foundation

/// The owner of a store's secrets: a service, and an access group if applications share them.
struct KeyringScope: Hashable, Sendable {
  let service: String
  let accessGroup: String?

  /// Creates a scope.
  /// - Throws: `unsupported` for names that an item attribute cannot hold.
  init(service: String, accessGroup: String?) throws(StorageError) {
    for name in [service, accessGroup ?? "-"] {
      guard !name.isEmpty, name.utf8.count <= 256, !name.utf8.contains(0) else {
        throw StorageError(
          .unsupported, "'\(name.prefix(64).description.escapingControlCharacters)' cannot name a service or group.",
          advice: "Use 1 to 256 bytes without a zero byte, such as com.example.shop.", location: "keychain")
      }
    }
    self.service = service
    self.accessGroup = accessGroup
  }

  var description: String { "keychain:\(service.escapingControlCharacters)\(accessGroup.map { "@\($0)" } ?? "")" }

  /// The name of the directory of the store's journal, unique for each scope: the names, or their hash if they are not
  /// plain file names.
  var directoryName: String {
    let names = [service] + (accessGroup.map { [$0] } ?? [])
    if names.allSatisfy(PathParts.isPlain) { return names.joined(separator: "@") }
    let bytes = names.map { "\($0.utf8.count):\($0)" }.joined()
    return "%" + sha256(Data(bytes.utf8)).map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
  }
}
