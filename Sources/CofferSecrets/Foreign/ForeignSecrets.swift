import CofferCore

#if SecretService && os(Linux)
  import CofferFileSystem
  import Foundation

  /// Recognizes the secrets of other libraries in a service of the keyring that Coffer has not used yet.
  ///
  /// A plain secret under `service` and `account` is a normal value, whoever stored it. Foreign are those that no read
  /// would return as what was stored: a JSON object with a transaction id, a JSON string, anything in the services of
  /// the known libraries, and items without `account`, which no key leads to.
  ///
  /// The keyring may be locked when the store is opened. Until it could be asked once, a file beside the journal says
  /// that it was not, so that another process does not take the journal for a proof.
  final class ForeignSecrets: Sendable {
    /// The number of secrets that are looked at.
    private static let limit = 1_000
    private static let knownServices = ["com.axiom.storage"]
    private static let knownSuffix = ".SwiftVaultKeychainService"
    private static let fileName = "unchecked"

    private let location: String
    private let path: String
    private let isReadOnly: Bool
    private let isAccepted = Locked(false)

    /// Returns `nil` for a service that Coffer has used, or whose foreign data is to be ignored.
    /// - Parameter isNew: whether the service has no journal.
    /// - Throws: `StorageError` if that cannot be determined.
    init?(at location: String, control: String, isNew: Bool, policy: ForeignData.Policy, isReadOnly: Bool) throws {
      (self.location, self.isReadOnly) = (location, isReadOnly)
      path = control + "/" + Self.fileName
      guard try isNew || PathParts.exists(path) else { return nil }
      if policy == .ignore {
        if !isReadOnly { unlink(path) }
        return nil
      }
    }

    /// Notes that the keyring has not been asked yet. Called before the journal is created.
    func prepare() throws {
      guard !isAccepted.withLock({ $0 }) else { return }
      let file = FileCreation.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
      guard file >= 0 else { throw StorageError.fileSystem("open", path: path, errno: errno, location: location) }
      close(file)
    }

    /// Throws `foreignFormat` if `recognize` finds something. If it finds nothing, it is not called again.
    func refuse(_ recognize: () throws -> ForeignData?) throws {
      guard !isAccepted.withLock({ $0 }) else { return }
      if let found = try recognize() { throw StorageError.foreign(found) }
      if !isReadOnly { unlink(path) }
      isAccepted.withLock { $0 = true }
    }

    /// Describes the foreign ones of the items of a service; `nil` if there are none.
    /// - Parameter secret: returns the secret of an item, or `nil` if it is gone.
    static func recognize(
      _ items: [KeyringItem], in scope: KeyringScope, secret: (KeyringItem) throws -> Data?
    ) throws -> ForeignData? {
      var names: [String] = []
      var encodings: [ForeignData.Encoding: Int] = [:]
      for item in items.prefix(limit) {
        guard let data = try secret(item) else { continue }
        let account = item.text(of: "account")
        let hasKey = account.flatMap(KeyringAccount.key) != nil
        guard let encoding = encoding(of: data, hasKey: hasKey, in: scope.service) else { continue }
        encodings[encoding, default: 0] += 1
        names.append(account ?? KeyringOriginals.name(of: item))
      }
      guard !names.isEmpty else { return nil }
      return ForeignData(
        .keychain, at: scope.description, names: names, hasMore: items.count > limit, encodings: encodings)
    }

    private static func encoding(of data: Data, hasKey: Bool, in service: String) -> ForeignData.Encoding? {
      let isKnown = knownServices.contains(service) || service.hasSuffix(knownSuffix)
      let encoding = ForeignData.Encoding(recognizing: data)
      switch encoding {
      case .storedObject: return encoding
      case .jsonText:
        guard let text = try? JSONDecoder().decode(String.self, from: data) else {
          return hasKey && !isKnown ? nil : encoding
        }
        let inner = Data(base64Encoded: text).map { ForeignData.Encoding(recognizing: $0) }
        return inner == .storedObject ? inner : encoding
      case .base64, .propertyList, .database, .plain: return hasKey && !isKnown ? nil : encoding
      }
    }
  }

  extension KeyringSlots {
    /// Throws `foreignFormat` as the first use would, unless the keyring cannot be asked now.
    func refuseForeignNow() throws {
      do {
        try refuseForeign()
      } catch let error as StorageError where error.code != .foreignFormat {
        return  // The first use throws it.
      }
    }
  }
#endif
