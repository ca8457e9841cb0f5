import CofferCore
package import CofferEncryption
import CofferFileSystem
package import CofferFiles
package import Foundation

/// Backup and restore of sealed files. A backup is encrypted like the file itself.
package enum SealedBackup {
  /// The result of a backup or a restore.
  package struct Report: Sendable {
    /// The canonical path of the backup, or of the store that was restored.
    package let path: String
    package let values: Int
    package let fileBytes: Int
    /// The path of the saved copy of the replaced file, or `nil` if there is none.
    package let replaced: String?
  }

  /// Copies the file of an open store while no commit is in progress, after decoding the copy to verify it.
  package static func make(
    of engine: SlotEngine, at file: URL, to path: String, overwrite: Bool
  ) async throws -> Report {
    guard let slots = engine.slots as? DocumentSlots<SealedFormat> else {
      throw StorageError.unsupported(
        "sealed backups", advice: "Only a sealed file has one.", location: engine.description)
    }
    let source = try location(file.path, engine.description)
    let target = try location(path, "sealed:\(path)")
    guard source.path != target.path else { throw same(engine.description) }
    let exists = try target.exists()
    guard overwrite || !exists else { throw there(target) }
    let document = try await wholeDocument(slots, engine)
    let (bytes, values) = (try slots.format.encode(document), document.items.count)
    _ = try slots.format.decode(bytes)
    try target.write(bytes, overwrite: overwrite)
    return Report(path: target.path, values: values, fileBytes: bytes.count, replaced: nil)
  }

  /// Returns the document, read with exclusive access so that no commit is partially included.
  private static func wholeDocument(
    _ slots: DocumentSlots<SealedFormat>, _ engine: SlotEngine
  ) async throws -> SealedFormat.Document {
    let found = Locked<SealedFormat.Document?>(nil)
    try await engine.alone {
      let document = try slots.document()
      found.withLock { $0 = document }
    }
    guard let document = found.withLock({ $0 }) else { throw StorageError(.inputOutput, "Nothing was read.") }
    return document
  }

  /// Replaces a sealed file with a backup, after verifying the backup with its passphrase.
  /// - Parameter kept: the path to save the replaced file at, or `nil` to discard it.
  package static func putBack(
    _ backup: String, at file: URL, passphrase: PassphraseSource, takesOver: Bool, keepingReplacedAs kept: String?
  ) async throws -> Report {
    let name = "sealed:\(file.path)"
    let source = try location(backup, "sealed:\(backup)")
    let target = try location(file.path, name)
    guard source.path != target.path else { throw same(name) }
    guard try source.exists() else {
      throw StorageError(
        .notFound, "There is no backup at this path.", advice: "Check the path. Nothing was changed.",
        location: "sealed:\(backup)")
    }
    guard let values = try await SealedInspection.inspect(source.path, passphrase: passphrase) else {
      throw StorageError(.notFound, "There is no backup at this path.", location: name)
    }
    guard takesOver || !SlotOwners.isOpen(control: target.path + ".coffer") else {
      throw StorageError(
        .busy, "The store is open: in this process or in another.",
        advice: "Close it everywhere and try again, or take it over. Nothing was changed.", location: name)
    }
    guard let bytes = try source.read() else { throw same(name) }
    let old = try target.read()
    if let old, let kept { try location(kept, name).write(old, overwrite: false) }
    try target.write(bytes, overwrite: true)
    return Report(
      path: target.path, values: values, fileBytes: bytes.count, replaced: old == nil ? nil : kept)
  }

  private static func same(_ name: String) -> StorageError {
    StorageError(
      .preconditionFailed, "The backup and the store are the same file.", advice: "Nothing was changed.",
      location: name)
  }

  private static func there(_ location: Location) -> StorageError {
    StorageError(
      .preconditionFailed, "A file already exists at \(location.path.escapingControlCharacters).",
      advice: "Give another name, or allow it to be overwritten. Nothing was changed.", location: location.name)
  }

  private static func location(_ path: String, _ name: String) throws -> Location {
    let resolved = try PathParts.resolvingLink(URL(fileURLWithPath: path).path)
    return Location(path: resolved, name: name)
  }

  /// The path of a file, and the location of its store for errors.
  private struct Location {
    let path: String
    let name: String

    func exists() throws -> Bool { try PathParts.exists(path) }

    func read() throws -> Data? {
      guard try exists() else { return nil }
      let parts = PathParts(path)
      return try Directory(parts.parent, location: name).read(parts.last, limit: 1 << 30)?.data
    }

    /// Writes the file atomically and syncs it.
    func write(_ bytes: Data, overwrite: Bool) throws {
      let parts = PathParts(path)
      guard try overwrite || !exists() else { throw there(self) }
      do { try OpenDirectory(parts.parent).replace(parts.last, with: bytes) } catch {
        throw error.locating(at: name)
      }
    }
  }
}
