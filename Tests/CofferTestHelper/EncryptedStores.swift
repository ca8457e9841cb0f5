import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import Foundation

/// The root key of the tests.
func testRoot() throws -> RootKey {
  try RootKey(
    from: SecretBytes(copying: sha256(Data("root".utf8))),
    RootKeyDerivation(.keyMaterial, salt: Data(repeating: 0, count: RootKeyDerivation.saltCount)))
}

/// Opens the store in a directory that a test encrypts.
func openBase(_ path: String, _ kind: String) async throws -> any StorageEngine {
  kind == "file"
    ? try await SlotEngine.files(in: URL(fileURLWithPath: path)) : try await SQLiteEngine.open(at: path + "/store.db")
}
