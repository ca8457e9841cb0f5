import CofferCore
import CofferFileSystem
public import CofferSlots
public import Foundation

extension SlotEngine {
  /// Opens a directory in which every value is a file of its own, whose bytes are exactly the value's.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.files(in: URL(fileURLWithPath: "/var/lib/shop/settings"))
  /// let store = TypedStore(engine: engine)
  /// try await store.save("dark", for: "theme")   // /var/lib/shop/settings/theme
  /// ```
  ///
  /// Any editor can read and change the files, also while the store is open: that is a change like any other, without
  /// transaction and origin. Any number of processes can use one directory. Ordinary keys are names of files as they
  /// are; `docs/formats/files.md` tells how others are written. The journal is in `.coffer`, beside the files; deleted,
  /// it is made anew from them.
  ///
  /// - Parameters:
  ///   - directory: made with those above it (0700) unless the configuration says otherwise; files are 0600.
  ///   - configuration: how the store is opened.
  /// - Throws: `StorageError`: `permissionDenied`, `diskFull`, `notAStore` (something else than a directory is there),
  ///   `notFound`, `newerFormat`, `damaged` (the journal), `inputOutput`.
  public static func files(
    in directory: URL, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> SlotEngine {
    if let reading = try await beside({ try readOnly(directory, configuration) }) { return reading }
    let slots = try FileSlots.open(directory, configuration)
    return try await open(
      slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration)
  }

  /// The same for callers that cannot suspend: it blocks their thread while the journal is opened.
  package static func filesBlocking(
    in directory: URL, configuration: SlotConfiguration = SlotConfiguration()
  ) throws -> SlotEngine {
    if let reading = try readOnly(directory, configuration) { return reading }
    let slots = try FileSlots.open(directory, configuration)
    return try SlotEngine(
      slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration)
  }

  /// Opens a directory that is a store and cannot be written; `nil` for others.
  private static func readOnly(_ directory: URL, _ configuration: SlotConfiguration) throws -> SlotEngine? {
    guard let (slots, reason) = try FileSlots.readOnly(directory, configuration) else { return nil }
    return try SlotEngine(
      readOnly: slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration,
      because: reason)
  }
}

extension FileSlots {
  var description: String { "file:\(path)" }
  var controlPath: String { path + "/" + Self.controlName }

  /// The directory under its canonical path: one name for every way of writing it.
  fileprivate static func open(_ directory: URL, _ configuration: SlotConfiguration) throws -> FileSlots {
    let (asGiven, name) = try path(of: directory)
    if configuration.createsIfMissing {
      do { try OpenDirectory.make(asGiven) } catch { throw error.locating(backend: name) }
    } else {
      try requireStore(asGiven, name)
    }
    let path = try canonical(asGiven, name)
    return try FileSlots(path, name: "file:\(path)", maximumValueSize: configuration.maximumValueSize)
  }

  /// Opens a directory for reading only, if there is something to read and nothing can be written.
  /// - Returns: The home and what keeps it from being written; `nil` where it is to be opened as usual, which says why
  ///   that cannot be.
  fileprivate static func readOnly(
    _ directory: URL, _ configuration: SlotConfiguration
  ) throws -> (slots: FileSlots, reason: String)? {
    let (asGiven, name) = try path(of: directory)
    var status = stat()
    guard stat(asGiven, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    let path = try canonical(asGiven, name)
    guard let reason = SlotObstacle.reason(control: path + "/" + controlName) else { return nil }
    if !configuration.createsIfMissing { try requireStore(path, name) }
    let slots = try FileSlots(
      path, name: "file:\(path)", maximumValueSize: configuration.maximumValueSize, isReadOnly: true)
    // An empty directory is no store yet, and cannot become one.
    guard try PathParts.exists(slots.controlPath) || !slots.list().isEmpty else { return nil }
    return (slots, reason)
  }

  private static func path(of directory: URL) throws -> (path: String, name: String) {
    let path = directory.path
    guard directory.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
      throw StorageError(
        .inputOutput, "The path of the store is empty, contains a NUL byte or is no path of a file.",
        advice: "Give the path of a directory.", backend: "file:\(path)")
    }
    return (path, "file:\(path)")
  }

  private static func canonical(_ path: String, _ name: String) throws -> String {
    guard let canonical = realpath(path, nil) else {
      throw StorageError.fileSystem("realpath", path: path, errno: errno, backend: name)
    }
    defer { free(canonical) }
    return String(cString: canonical)
  }

  /// A directory is a store once `.coffer` is in it. The journal in there may be missing: it is made anew.
  private static func requireStore(_ path: String, _ name: String) throws {
    do {
      if try PathParts.exists(path) {
        try requireDirectory(path, name)
        if try PathParts.exists(path + "/" + controlName) { return }
      }
    } catch let error as StorageError {
      throw error.locating(backend: name)
    }
    throw StorageError(
      .notFound, "There is no store at this path.", advice: "Check the path, or create the store by writing to it.",
      backend: name)
  }

  private static func requireDirectory(_ path: String, _ name: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError.fileSystem("stat", path: path, errno: errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { return }
    throw StorageError(
      .notAStore, "\(path.escapingControlCharacters) is no directory, and a store of files is one.",
      advice: "Give the path of a directory. Nothing was changed.", backend: name)
  }
}
