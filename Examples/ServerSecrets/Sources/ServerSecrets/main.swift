// Secrets of a server: in the keyring if there is one, otherwise in a sealed file with a passphrase.
import Coffer
import Foundation

let directory = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-server-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: directory) }

// A real server takes its passphrase from systemd: .systemdCredential("shop-secrets")
let chain = SecretChain(
  .keychain(service: "com.example.server"),
  .sealed(
    directory.appendingPathComponent("shop.sealed"), passphrase: .provided { Data("correct horse battery".utf8) }))

let choice = try await chain.choose()
print("Secrets are kept in store \(choice.index + 1) of \(chain.links.count): \(choice.reason)")
precondition(choice.index == 1, "without keyring support, only the sealed file can be chosen")

let secrets = try await KeychainAdapter.open(chain)
try await secrets.set(Data("s3cret".utf8), for: "api-token")
print("The token has \(try await secrets.get("api-token")?.count ?? 0) bytes; keys: \(try await secrets.list())")
try await secrets.engine.close()

do {
  _ = try await SlotEngine.sealed(
    at: directory.appendingPathComponent("shop.sealed"), passphrase: .provided { Data("wrong".utf8) })
  preconditionFailure("a wrong passphrase must be an error")
} catch let error as StorageError {
  print("With another passphrase: \(error.message)")
}
