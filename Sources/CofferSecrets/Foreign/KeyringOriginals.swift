import CofferCore
package import Foundation

#if SecretService && os(Linux)
  /// The items of other programs in a service of the keyring, read for an import. Calls block.
  package struct KeyringOriginals: Sendable {
    /// An item as it was read.
    package struct Original: Sendable, Hashable {
      /// The secret.
      package let data: Data
      fileprivate let path: KeyringItemPath
      fileprivate let modified: Date
    }

    /// The names of the secrets, each once, in order.
    package let names: [String]
    /// By the bytes of the name: two Unicode forms of one text are different names.
    private let items: [[UInt8]: [KeyringItemPath]]
    private let client: SecretServiceClient

    /// Lists the items of a service that Coffer has not written.
    /// - Throws: `StorageError`: `unavailable` for a keyring that is locked, missing or does not answer.
    package init(service: String, accessGroup: String?, configuration: KeychainConfiguration) throws {
      let scope = try KeyringScope(service: service, accessGroup: accessGroup)
      client = SecretServiceClient(
        address: configuration.address, timeout: configuration.timeout,
        allowsPlainSession: configuration.allowsPlainSession, allowsPrompts: configuration.allowsPrompts)
      do {
        let found = try client.items(client.search([KeyringAttribute("service", scope.service)])).filter { item in
          item.text(of: "access-group") == accessGroup && item.text(of: "coffer-version") == nil
            && item.text(of: "coffer-slot") == nil
        }
        items = Dictionary(grouping: found) { Array(Self.name(of: $0).utf8) }.mapValues { $0.map(\.path) }
      } catch let error as StorageError {
        throw error.locating(at: scope.description)
      }
      names = items.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The name of an item: its account, under the name that its program uses for that, or else its label.
    static func name(of item: KeyringItem) -> String {
      for attribute in ["account", "username", "user"] {
        if let text = item.text(of: attribute), !text.isEmpty { return text }
      }
      return item.label
    }

    /// Returns the secret of a name, or `nil` if it is gone.
    /// - Throws: `StorageError`: `unavailable` as ``init(service:accessGroup:configuration:)``, `damaged` if several
    ///   items have the name.
    package func read(_ name: String) throws -> Original? {
      let paths = items[Array(name.utf8)] ?? []
      guard paths.count < 2 else { throw StorageError(.damaged, "several items have its name") }
      guard let path = paths.first, let item = try client.items([path]).first,
        let secret = try client.secrets([path]).first
      else { return nil }
      return Original(data: secret.data, path: path, modified: item.modified)
    }

    /// Deletes an item if it has not changed since it was read, and returns whether it is deleted.
    /// - Throws: `StorageError` if the keyring cannot be used.
    package func remove(_ original: Original) throws -> Bool {
      // Dates have whole seconds, so the secret is compared as well.
      guard let item = try client.items([original.path]).first, item.modified == original.modified,
        try client.secrets([original.path]).first?.data == original.data
      else { return false }
      return try client.delete(original.path)
    }
  }
#else
  /// The items of other programs in a service of the keyring, which this program cannot read.
  package struct KeyringOriginals: Sendable {
    /// An item as it was read.
    package struct Original: Sendable, Hashable {
      /// The secret.
      package let data: Data
    }

    /// The names of the secrets.
    package let names: [String] = []

    /// - Throws: `unsupported`.
    package init(service: String, accessGroup: String?, configuration: KeychainConfiguration) throws {
      throw StorageError(
        .unsupported, "This program was built without support for the desktop's keyring.",
        advice: "Build it on Linux with the package trait 'SecretService'.", location: "keychain:\(service)")
    }

    package func read(_ name: String) throws -> Original? { nil }
    package func remove(_ original: Original) throws -> Bool { false }
  }
#endif
