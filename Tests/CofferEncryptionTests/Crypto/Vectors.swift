import Foundation
import Testing

/// A file of published vectors in `Vectors`, written by `scripts/vectors.py`. The file names its source.
struct Vectors<Vector: Decodable>: Decodable {
  let source: String
  let vectors: [Vector]

  init(_ name: String) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Vectors/\(name).json")
    self = try JSONDecoder().decode(Self.self, from: try Data(contentsOf: file))
  }
}

struct AEADVector: Decodable {
  let id: String
  let key: String
  let nonce: String
  let aad: String
  let plaintext: String
  let ciphertext: String
  let tag: String
  let isValid: Bool
}

struct HKDFVector: Decodable {
  let id: String
  let key: String
  let salt: String
  let info: String
  let derived: String
  let count: Int
  let isValid: Bool
}

struct HMACVector: Decodable {
  let id: String
  let key: String
  let message: String
  let code: String
}

struct ScryptVector: Decodable {
  let id: String
  let passphrase: String
  let salt: String
  let logN: Int
  let r: Int
  let p: Int
  let derived: String
}

struct PBKDF2Vector: Decodable {
  let id: String
  let passphrase: String
  let salt: String
  let rounds: Int
  let derived: String
}
