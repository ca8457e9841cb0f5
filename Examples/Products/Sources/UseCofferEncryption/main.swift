import CofferEncryption
import Foundation

let key = RootKeySource.passphrase(.provided { Data("correct horse battery staple".utf8) })
let engine = try await EncryptedEngine.open(MemoryEngine(), key: key)
_ = try await engine.commit(WriteBatch([.put("theme", Data("night".utf8))]), from: StoreOrigin())
let theme = try await engine.entry("theme")?.value
precondition(theme == Data("night".utf8))
try await engine.close()
