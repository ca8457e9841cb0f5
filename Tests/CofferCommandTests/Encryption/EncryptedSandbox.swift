import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

extension Sandbox {
  /// Creates a file with random key material for this user alone, and returns its path.
  @discardableResult
  func makeKey(_ name: String = "app.key") throws -> String {
    let digits = (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    try write(Data((digits + "\n").utf8), to: name)
    try #require(chmod(path(name), 0o600) == 0)
    return path(name)
  }

  /// Creates a file with a passphrase, and returns its path.
  @discardableResult
  func makePassphrase(_ name: String = "passphrase", _ text: String = "open sesame") throws -> String {
    try write(Data((text + "\n").utf8), to: name)
    try #require(chmod(path(name), 0o600) == 0)
    return path(name)
  }

  /// Returns whether a file of the store or of its control directory contains a text.
  func stores(_ text: String, in name: String) throws -> Bool {
    let folder = url.path
    let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
    return files.filter { $0.hasPrefix(name) }.contains { file in
      (try? Data(contentsOf: url.appendingPathComponent(file)))?.range(of: Data(text.utf8)) != nil
    }
  }

  /// Creates a store of which only the value of `token` is encrypted, beside a plain `theme`.
  func makeMixedStore(_ name: String = "store.db", key: String) async throws {
    let base = try await SQLiteEngine.open(at: path(name))
    let engine = try await EncryptedEngine.open(
      base, key: .file(key), configuration: EncryptedEngine.Configuration { $0 == "token" })
    try await engine.commit(
      WriteBatch([.put("theme", Data("dark".utf8)), .put("token", Data("s3cret".utf8))]), from: StoreOrigin())
    try await engine.close()
  }
}

extension EndedProgram {
  /// The messages, without the line ends that fit them to a terminal.
  var words: String { errors.replacing("\n", with: " ") }
}

/// The variable with which a command never prompts.
let neverAsk: [(name: String, value: String?)] = [(name: "COFFER_NEVER_ASK", value: "1")]
