import CofferSecrets
import Foundation

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID())")
defer { try? FileManager.default.removeItem(at: folder) }
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

let passphrase = PassphraseSource.provided { Data("correct horse battery staple".utf8) }
let chain = SecretChain(.sealed(folder.appendingPathComponent("shop.sealed"), passphrase: passphrase))
let secrets = try await KeychainAdapter.open(chain)
try await secrets.set(Data("s3cret".utf8), for: "api-token")
let keys = try await secrets.list()
precondition(keys == ["api-token"])
try await secrets.engine.close()
