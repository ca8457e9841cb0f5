import CofferCore
import CofferCrypto
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSlots
import Foundation

/// Runs a command that writes all values of a store anew; returns whether it is one. STORE is a directory.
func runRotation(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  guard command == "rotate-values" else { return false }
  let base: any StorageEngine =
    rest[0] == "file"
    ? try await SlotEngine.files(in: URL(fileURLWithPath: path)) : try await SQLiteEngine.open(at: path + "/store.db")
  let settings = EncryptionSettings(hidesNames: rest[2] == "hidden")
  let root = try RootKey(
    from: SecretBytes(copying: sha256(Data("root".utf8))),
    RootKeyDerivation(.keyMaterial, salt: Data(repeating: 0, count: RootKeyDerivation.saltCount)))
  say("ready")
  _ = readLine()
  let engine = try await EncryptedEngine.open(
    base, ifMissing: .createForPlainValues, configuration: EncryptionConfiguration(settings: settings)
  ) { _ in root }
  let rotation =
    switch rest[1] {
    case "newKey": try await engine.rotate()
    case "encryption": try await engine.encryptPlainValues()
    default: try await engine.decrypt()
    }
  let report = try await rotation.result()
  say(report.isComplete ? "complete" : "incomplete \(report.failures)")
  try await engine.close()
  return true
}
