import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferFiles
import CofferSQLite
import Foundation

/// The paths of a sealed file and of its directory `<file>.coffer`.
struct SealedFile: Sendable {
  let path: String
  var control: String { path + ".coffer" }
  var copy: String { control + "/copy" }
  var description: String { "sealed:\(path)" }

  /// Resolves the path of a sealed file.
  /// - Throws: `inputOutput` if the URL is not a file path, `notAStore` for a dangling symbolic link.
  init(_ url: URL) throws(StorageError) {
    guard url.isFileURL, !url.path.isEmpty, !url.path.utf8.contains(0), !url.hasDirectoryPath else {
      throw StorageError(
        .inputOutput, "The path of the sealed store is empty, contains a NUL byte or is not a file path.",
        advice: "Give the path of a file, such as /var/lib/shop/secrets.sealed.", location: "sealed:\(url.path)")
    }
    // A symbolic link and its target are one store with one journal.
    do { path = try PathParts.resolvingLink(url.standardizedFileURL.path) } catch {
      throw error.locating(at: "sealed:\(url.path)")
    }
  }

  func exists() throws -> Bool { try PathParts.exists(path) }
  /// Returns whether there was a store, even if its file is missing now.
  func wasUsed() throws -> Bool { try PathParts.exists(control + "/journal.db") || PathParts.exists(copy) }

  private var directory: String { PathParts(path).parent }
  private var name: String { PathParts(path).last }

  /// Opens the file or creates an empty one. Reads the passphrase only when it is needed. Blocks while the passphrase
  /// is read and the key is derived from it.
  func open(
    _ passphrase: PassphraseSource, mayCreate: Bool, cost: ScryptCost, limits: PassphraseLimits
  ) throws -> SealedFormat {
    do {
      if let file = try read() { return try open(file, passphrase, limits) }
      // A store whose file is missing is damaged, not new, even if it may be created.
      if try wasUsed() {
        // Another process may have created the store in the meantime.
        guard let file = try read() else { throw isGone }
        return try open(file, passphrase, limits)
      }
      guard mayCreate else {
        throw StorageError(.notFound, "There is no store at this path.", advice: "Check the path.")
      }
      return try create(passphrase, cost, limits)
    } catch let error as StorageError {
      throw error.locating(at: description)
    }
  }

  /// Returns the contents of the file, or `nil` if there is none.
  func read() throws -> Data? { try exists() ? read(name, in: directory) : nil }

  private func read(_ name: String, in directory: String) throws -> Data? {
    // Symbolic links are followed, since the path is the user's own.
    try Directory(directory, location: description).read(name, followsLink: true, limit: 1 << 30)?.data
  }

  /// The header of the copy, or `nil` if it is missing or damaged.
  private var copiedHeader: SealedHeader? {
    guard let file = (try? read("copy", in: control)) ?? nil else { return nil }
    return try? SealedHeader(of: file)
  }

  /// Returns the header of the file, or of its copy if the file's is damaged.
  func header(of file: Data) throws(StorageError) -> SealedHeader {
    do {
      return try SealedHeader(of: file)
    } catch {
      guard error.code == .damaged || error.code == .notAStore, let header = copiedHeader else { throw error }
      return header
    }
  }

  func open(_ file: Data, _ passphrase: PassphraseSource, _ limits: PassphraseLimits) throws -> SealedFormat {
    let header = try header(of: file)
    try header.validate(within: limits)  // before the passphrase is requested
    return try open(header, passphrase.read(), limits)
  }

  private func open(_ header: SealedHeader, _ secret: SecretBytes, _ limits: PassphraseLimits) throws -> SealedFormat {
    try SealedFormat(header, header.opened(with: secret, limits: limits), at: self)
  }

  private func create(
    _ passphrase: PassphraseSource, _ cost: ScryptCost, _ limits: PassphraseLimits
  ) throws -> SealedFormat {
    try OpenDirectory.make(directory)
    let secret = try passphrase.read(confirming: true)
    let key = try SecretBytes.random(count: AEAD.keyCount)
    let header = try SealedHeader(sealing: key, with: secret, cost: cost)
    let format = try SealedFormat(header, key, at: self)
    if try OpenDirectory(directory).create(name, with: format.encode(format.empty)) { return format }
    // Another process created the file first, with the same passphrase or another one.
    guard let file = try read() else { throw SealedHeader.damaged }
    return try open(self.header(of: file), secret, limits)
  }

  /// The error for a store whose file is missing.
  var isGone: StorageError {
    let hasCopy = (try? PathParts.exists(copy)) ?? false
    let (path, control) = (path.quotedForShell, control.quotedForShell)
    let back =
      hasCopy
      ? "Restore it from a backup, or restore its last copy: cp \(control)/copy \(path)"
      : "Restore it from a backup."
    return StorageError(
      .damaged,
      "The sealed file is gone, though its \(hasCopy ? "journal and its copy are" : "journal is") still there.",
      advice: "\(back) To begin with an empty store: rm -r \(control). Nothing was changed.", location: description)
  }
}

extension String {
  /// The string, quoted as one word for a shell.
  fileprivate var quotedForShell: String {
    let isPlain = unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._-+:@,=".unicodeScalars.contains($0))
    }
    return isPlain ? self : "'" + replacing("'", with: "'\\''").escapingControlCharacters + "'"
  }
}
