import CofferCore
import CofferCrypto
import CofferFileSystem
import CofferSQLite
import Foundation

/// A sealed file and the directory of ours beside it.
struct SealedFile: Sendable {
  let path: String
  var control: String { path + ".coffer" }
  var copy: String { control + "/copy" }
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
  func wasUsed() throws -> Bool { try PathParts.exists(control + "/journal.db") || PathParts.exists(copy) }

  private var directory: String { PathParts(path).parent }
  private var name: String { PathParts(path).last }

  /// Opens the file, or makes an empty one, and asks for the passphrase only when it is needed. It blocks: for as long
  /// as the passphrase takes to be read and to be worked on.
  func open(
    _ passphrase: PassphraseSource, mayCreate: Bool, cost: ScryptCost, limits: PassphraseLimits
  ) throws -> SealedFormat {
    do {
      if let file = try read() { return try open(file, passphrase, limits) }
      // A store that had a file and has none is not a new one, whoever asks.
      if try wasUsed() {
        // Somebody may have made the store meanwhile.
        guard let file = try read() else { throw isGone }
        return try open(file, passphrase, limits)
      }
      guard mayCreate else {
        throw StorageError(.notFound, "There is no store at this path.", advice: "Check the path.")
      }
      return try create(passphrase, cost, limits)
    } catch let error as StorageError {
      throw error.locating(backend: description)
    }
  }

  /// The file's bytes; `nil` when there is none.
  func read() throws -> Data? { try exists() ? read(name, in: directory) : nil }

  private func read(_ name: String, in directory: String) throws -> Data? {
    // A link leads to the file that is meant: it is the user who gives this path.
    try Directory(directory, backend: description).read(name, followsLink: true, limit: 1 << 30)?.data
  }

  /// The header of the copy, if it is whole.
  private var copiedHeader: SealedHeader? {
    guard let file = (try? read("copy", in: control)) ?? nil else { return nil }
    return try? SealedHeader(of: file)
  }

  /// The header of the file; that of the copy where the file's is damaged.
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
    try header.validate(within: limits)  // before anybody is asked for anything
    return try open(header, passphrase.read(), limits)
  }

  private func open(_ header: SealedHeader, _ secret: SecretBytes, _ limits: PassphraseLimits) throws -> SealedFormat {
    do {
      return try SealedFormat(header, header.opened(with: secret, limits: limits), at: self)
    } catch let error as StorageError where error.code == .wrongPassphrase && header.version == 1 {
      // A header of format 1 cannot tell its damage; its copy can.
      guard let copied = copiedHeader, copied != header else { throw error }
      return try SealedFormat(copied, copied.opened(with: secret, limits: limits), at: self)
    }
  }

  private func create(
    _ passphrase: PassphraseSource, _ cost: ScryptCost, _ limits: PassphraseLimits
  ) throws -> SealedFormat {
    try OpenDirectory.make(directory)
    let secret = try passphrase.read(confirming: true)
    let key = try SecretBytes.random(count: AESGCM.keyCount)
    let header = try SealedHeader(sealing: key, with: secret, cost: cost)
    let format = try SealedFormat(header, SealedHeader.Opened(key: key, newest: header), at: self)
    if try OpenDirectory(directory).create(name, with: format.encode(format.empty)) { return format }
    // Somebody else was first, with the same passphrase or another one.
    guard let file = try read() else { throw SealedHeader.damaged }
    return try open(self.header(of: file), secret, limits)
  }

  /// What to say of a store whose file is not there.
  var isGone: StorageError {
    let hasCopy = (try? PathParts.exists(copy)) ?? false
    let (path, control) = (path.quotedForShell, control.quotedForShell)
    let back =
      hasCopy
      ? "Put it back from a backup, or take what was written last: cp \(control)/copy \(path)"
      : "Put it back from a backup."
    return StorageError(
      .damaged,
      "The sealed file is gone, though its \(hasCopy ? "journal and its copy are" : "journal is") still there.",
      advice: "\(back) To begin with an empty store: rm -r \(control). Nothing was changed.", backend: description)
  }
}

extension String {
  /// The string as one word of a shell.
  fileprivate var quotedForShell: String {
    let isPlain = unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._-+:@,=".unicodeScalars.contains($0))
    }
    return isPlain ? self : "'" + replacing("'", with: "'\\''").escapingControlCharacters + "'"
  }
}
