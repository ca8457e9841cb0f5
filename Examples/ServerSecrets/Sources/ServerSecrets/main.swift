// A secret of a server, declared as a key: in the keyring if there is one, otherwise in a sealed file.
// It needs neither HOME nor a session bus: env -i PATH="$PATH" .build/debug/ServerSecrets
import CofferRouter
import Foundation

let directory = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-server-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: directory) }
let file = directory.appendingPathComponent("shop.sealed")

enum Secrets {
  // A real server takes its passphrase from systemd: .systemdCredential("shop-secrets")
  static let domain = SecretDomain.chain(
    service: "com.example.server", sealedAt: file, passphrase: .provided { Data("correct horse battery".utf8) })
  static let token = TypedKey<String>(secret: "api-token", in: domain, owner: "Server", about: "The token of the API.")
}

struct ServerKeys: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(Secrets.token)]
}

let router = StorageRouter()
try await router.registerCatalog(ServerKeys())
try await router.set("s3cret", for: Secrets.token)
print("The token has \(try await router.get(Secrets.token).count) characters.")

let report = await router.auditReport()
for entry in report.entries { print("\(entry.key.name) is in \(entry.store)") }
precondition(report.entries[0].store == "sealed:\(file.path)", "Without a keyring the sealed file is selected.")
try await router.close()

do {
  _ = try await SlotEngine.sealed(at: file, passphrase: .provided { Data("wrong".utf8) })
  preconditionFailure("A wrong passphrase must be an error.")
} catch let error as StorageError {
  print("With another passphrase: \(error.message)")
}
