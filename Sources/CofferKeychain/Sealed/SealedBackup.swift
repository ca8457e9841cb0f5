import CofferCore
package import CofferCrypto
import CofferFileSystem
import CofferLocks
package import CofferSlots
package import Foundation

/// Copies of a sealed file: as sealed as the file itself.
package enum SealedBackup {
  /// What was copied.
  package struct Report: Sendable {
    /// The canonical path of the copy, or of the store that it was put back to.
    package let path: String
    package let values: Int
    package let fileBytes: Int
    /// Where what was replaced is kept.
    package let replaced: String?
  }

  /// Copies the file of an open store, of a moment when nobody commits, and opens the copy to see that it is whole.
  package static func make(
    of engine: SlotEngine, at file: URL, to path: String, overwrite: Bool
  ) async throws -> Report {
    guard let slots = engine.slots as? DocumentSlots<SealedFormat> else {
      throw StorageError.unsupported(
        "sealed backups", advice: "Only a sealed file has one.", backend: engine.description)
    }
    let source = try place(file.path, engine.description)
    let target = try place(path, "sealed:\(path)")
    guard source.path != target.path else { throw same(engine.description) }
    let exists = try target.exists()
    guard overwrite || !exists else { throw there(target) }
    let document = try await wholeDocument(slots, engine)
    let (bytes, values) = (try slots.format.encode(document), document.items.count)
    _ = try slots.format.decode(bytes)
    try target.write(bytes, overwrite: overwrite)
    return Report(path: target.path, values: values, fileBytes: bytes.count, replaced: nil)
  }

  /// Inside of `alone`, so that no commit is half in the file.
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

  /// Puts a copy in the place of a sealed file, after it was opened with its passphrase.
  /// - Parameter kept: where what is replaced is kept; `nil` to keep nothing.
  package static func putBack(
    _ backup: String, at file: URL, passphrase: PassphraseSource, takesOver: Bool, keepingReplacedAs kept: String?
  ) async throws -> Report {
    let name = "sealed:\(file.path)"
    let source = try place(backup, "sealed:\(backup)")
    let target = try place(file.path, name)
    guard source.path != target.path else { throw same(name) }
    guard try source.exists() else {
      throw StorageError(
        .notFound, "There is no backup at this path.", advice: "Check the path. Nothing was changed.",
        backend: "sealed:\(backup)")
    }
    guard let values = try await SealedInspection.inspect(source.path, passphrase: passphrase) else {
      throw StorageError(.notFound, "There is no backup at this path.", backend: name)
    }
    guard takesOver || !SlotUsage.isOpen(control: target.path + ".coffer") else {
      throw StorageError(
        .busy, "The store is open: in this process or in another.",
        advice: "Close it everywhere and try again, or take it over. Nothing was changed.", backend: name)
    }
    guard let bytes = try source.read() else { throw same(name) }
    let old = try target.read()
    if let old, let kept { try place(kept, name).write(old, overwrite: false) }
    try target.write(bytes, overwrite: true)
    return Report(
      path: target.path, values: values, fileBytes: bytes.count, replaced: old == nil ? nil : kept)
  }

  private static func same(_ name: String) -> StorageError {
    StorageError(
      .preconditionFailed, "The backup and the store are the same file.", advice: "Nothing was changed.", backend: name)
  }

  private static func there(_ place: Place) -> StorageError {
    StorageError(
      .preconditionFailed, "There is a file at \(place.path.escapingControlCharacters) already.",
      advice: "Give another name, or allow it to be overwritten. Nothing was changed.", backend: place.name)
  }

  private static func place(_ path: String, _ name: String) throws -> Place {
    let resolved = try PathParts.resolvingLink(URL(fileURLWithPath: path).path)
    return Place(path: resolved, name: name)
  }

  /// A file by its path.
  private struct Place {
    let path: String
    let name: String

    func exists() throws -> Bool { try PathParts.exists(path) }

    func read() throws -> Data? {
      guard try exists() else { return nil }
      let parts = PathParts(path)
      return try Directory(parts.parent, backend: name).read(parts.last, limit: 1 << 30)?.data
    }

    /// As a whole, and synced.
    func write(_ bytes: Data, overwrite: Bool) throws {
      let parts = PathParts(path)
      guard try overwrite || !exists() else { throw there(self) }
      do { try OpenDirectory(parts.parent).replace(parts.last, with: bytes) } catch {
        throw error.locating(backend: name)
      }
    }
  }
}
