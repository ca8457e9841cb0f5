import CofferCore
import CofferEncryption
import Foundation

/// The root key of the tests.
func testRoot() throws -> RootKey {
  try RootKey(
    from: SecretBytes(copying: sha256(Data("root".utf8))),
    RootKeyDerivation(.keyMaterial, salt: Data(repeating: 0, count: RootKeyDerivation.saltCount)))
}
