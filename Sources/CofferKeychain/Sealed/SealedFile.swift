import CofferCore
import CofferCrypto
import CofferFileSystem
import CofferSQLite
import Foundation

/// A sealed file and the directory of ours beside it.
struct SealedFile: Sendable {
  let path: String
  var control: String { path + ".coffer" }
  var description: String { "sealed:\(path)" }

  /// - Throws: `inputOutput` for what is no path of a file, `notAStore` for a link that leads nowhere.
  init(_ url: URL) throws(StorageError) {
    guard url.isFileURL, !url.path.isEmpty, !url.path.utf8.contains(0), !url.hasDirectoryPath else {
      throw StorageError(
        .inputOutput, "The path of the sealed store is empty, contains a NUL byte or is no path of a file.",
        advice: "Give the path of a file, such as /var/lib/shop/secrets.sealed.", backend: "sealed:\(url.path)")
    }
    // A link and what it leads to are one store, with one journal.
    do { path = try PathParts.resolvingLink(url.standardizedFileURL.path) } catch {
      throw error.locating(backend: "sealed:\(url.path)")
    }
  }

  func exists() throws -> Bool { try PathParts.exists(path) }
  /// Whether there was a store, though its file may be gone.
  func wasUsed() throws -> Bool { try PathParts.exists(control + "/journal.db") }

  private var directory: String { PathParts(path).parent }
  private var name: String { PathParts(path).last }

  /// Opens the file, or makes an empty one, and asks for the passphrase only when it is needed. It blocks: for as long
  /// as the passphrase takes to be read and to be worked on.
  func open(_ passphrase: PassphraseSource, mayCreate: Bool, cost: ScryptCost) throws -> SealedFormat {
    do {
      if let file = try read() { return try open(file, passphrase) }
      guard mayCreate else {
        throw StorageError(.notFound, "There is no store at this path.", advice: "Check the path.")
      }
      if let file = try fileOfLivingStore() { return try open(file, passphrase) }
      return try create(passphrase, cost)
    } catch let error as StorageError {
      throw error.locating(backend: description)
    }
  }

  /// The file's bytes; `nil` when there is none.
  private func read() throws -> Data? {
    guard try exists() else { return nil }
    // A link leads to the file that is meant: it is the user who gives this path.
    return try Directory(directory, backend: description).read(name, followsLink: true, limit: 1 << 30)?.data
  }

  private func open(_ file: Data, _ passphrase: PassphraseSource) throws -> SealedFormat {
    let header = try SealedHeader(of: file)
    return try SealedFormat(header, key: header.key(with: passphrase.read()))
  }

  private func create(_ passphrase: PassphraseSource, _ cost: ScryptCost) throws -> SealedFormat {
    try OpenDirectory.make(directory)
    let secret = try passphrase.read(confirming: true)
    let key = try SecretBytes.random(count: AESGCM.keyCount)
    let format = try SealedFormat(try SealedHeader(sealing: key, with: secret, cost: cost), key: key)
    if try OpenDirectory(directory).create(name, with: format.encode(format.empty)) { return format }
    // Somebody else was first, with the same passphrase or another one.
    guard let file = try read() else { throw SealedHeader.damaged }
    let header = try SealedHeader(of: file)
    return try SealedFormat(header, key: header.key(with: secret))
  }

  /// A store that had a file and has none is not a new one.
  /// - Returns: The file, when somebody has made the store while we looked.
  private func fileOfLivingStore() throws -> Data? {
    guard try wasUsed() else { return nil }
    if let file = try read() { return file }
    throw StorageError(
      .damaged, "The sealed file is gone, though its journal is still there.",
      advice: "Put it back, from a backup or from \(control)/copy; to begin with an empty store, remove \(control).")
  }
}
