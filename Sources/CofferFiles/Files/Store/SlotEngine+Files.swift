import CofferCore
import CofferFileSystem
public import Foundation

extension SlotEngine {
  /// Opens a directory that stores each value in a file, whose content is exactly the value.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.files(in: URL(fileURLWithPath: "/var/lib/shop/settings"))
  /// let store = TypedStore(engine: engine)
  /// try await store.save("dark", for: "theme")   // /var/lib/shop/settings/theme
  /// ```
  ///
  /// Any editor can read and change the files, even while the store is open: each edit is delivered as a change without
  /// transaction and origin. Any number of processes can use one directory. Simple keys are used as file names
  /// unchanged; `docs/formats/files.md` describes how others are encoded. The journal is in `.coffer`, beside the
  /// files; if the database in it is deleted, it is rebuilt from them. A directory with files but without `.coffer`
  /// belongs to another program and is refused with `foreignFormat`, unless the configuration ignores that
  /// (``SlotEngine/Configuration/foreignData``): then each file is a value.
  ///
  /// - Parameters:
  ///   - directory: the directory. Missing directories are created with mode 0700 unless the configuration says
  ///     otherwise; files have mode 0600.
  ///   - configuration: the options for opening the store.
  /// - Throws: `StorageError`: `permissionDenied`, `diskFull`, `notAStore` (the path is not a directory), `notFound`,
  ///   `foreignFormat`, `newerFormat`, `damaged` (the journal), `inputOutput`.
  public static func files(
    in directory: URL, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> SlotEngine {
    try await configuration.events.opening(at: "file:\(directory.path)", isReadOnly: \.isReadOnly) {
      try await files(directory, configuration)
    }
  }

  private static func files(_ directory: URL, _ configuration: SlotEngine.Configuration) async throws -> SlotEngine {
    if let reading = try await runBlocking({ try readOnly(directory, configuration) }) { return reading }
    let slots = try FileSlots.open(directory, configuration)
    let engine = try await open(
      slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration)
    slots.acceptForeignFiles(configuration)
    return engine
  }

  /// Opens the store of files in the directory at a path, as for a URL.
  /// - Throws: The errors of opening a URL.
  public static func files(
    in path: String, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> SlotEngine {
    try await files(in: .file(atPath: path, isDirectory: true), configuration: configuration)
  }

  /// Opens a directory for callers that cannot suspend. It blocks the calling thread while the journal is opened.
  package static func filesBlocking(
    in directory: URL, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) throws -> SlotEngine {
    try configuration.events.openingNow(at: "file:\(directory.path)", isReadOnly: \.isReadOnly) {
      try filesBlocking(directory, configuration)
    }
  }

  private static func filesBlocking(_ directory: URL, _ configuration: SlotEngine.Configuration) throws -> SlotEngine {
    if let reading = try readOnly(directory, configuration) { return reading }
    let slots = try FileSlots.open(directory, configuration)
    let engine = try SlotEngine(
      slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration)
    slots.acceptForeignFiles(configuration)
    return engine
  }

  /// Opens a store for reading only if it cannot be written or if the configuration demands it; returns `nil` for any
  /// other directory.
  private static func readOnly(_ directory: URL, _ configuration: SlotEngine.Configuration) throws -> SlotEngine? {
    guard let (slots, reason) = try FileSlots.readOnly(directory, configuration) else { return nil }
    return try SlotEngine(
      readOnly: slots, journalIn: slots.controlPath, name: slots.description, configuration: configuration,
      because: reason)
  }
}

extension FileSlots {
  var description: String { "file:\(path)" }
  var controlPath: String { path + "/" + Self.controlName }

  /// Opens the directory under its canonical path, so that each directory has one name.
  fileprivate static func open(_ directory: URL, _ configuration: SlotEngine.Configuration) throws -> FileSlots {
    let (asGiven, name) = try path(of: directory)
    if configuration.createsIfMissing {
      do { try OpenDirectory.make(asGiven) } catch { throw error.locating(at: name) }
    } else {
      try requireStore(asGiven, name, configuration.foreignData)
    }
    let path = try canonical(asGiven, name)
    try ForeignFiles.refuse(in: path, location: "file:\(path)", unless: configuration.foreignData)
    return try FileSlots(path, name: "file:\(path)", maximumValueSize: configuration.maximumValueSize)
  }

  /// Accepts files that an earlier version has not converted, if the configuration says so: after the directory was
  /// opened, since they stay refused if that fails.
  fileprivate func acceptForeignFiles(_ configuration: SlotEngine.Configuration) {
    if configuration.foreignData == .ignore { ForeignFiles.accept(in: path) }
  }

  /// Opens a directory for reading only if it is a store that cannot be written or if the configuration demands it.
  /// - Returns: The store and the reason why it cannot be written; `nil` if it should be opened normally, which throws
  ///   the reason if that is impossible.
  fileprivate static func readOnly(
    _ directory: URL, _ configuration: SlotEngine.Configuration
  ) throws -> (slots: FileSlots, reason: String)? {
    let (asGiven, name) = try path(of: directory)
    let isForced = configuration.access == .readOnly
    if isForced { try requireStore(asGiven, name, configuration.foreignData) }
    var status = stat()
    guard stat(asGiven, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    let path = try canonical(asGiven, name)
    guard let reason = configuration.reasonToOnlyRead(control: path + "/" + controlName) else { return nil }
    if !isForced, !configuration.createsIfMissing { try requireStore(path, name, configuration.foreignData) }
    try ForeignFiles.refuse(in: path, location: "file:\(path)", unless: configuration.foreignData)
    let slots = try FileSlots(
      path, name: "file:\(path)", maximumValueSize: configuration.maximumValueSize, isReadOnly: true)
    // An empty directory is not a store yet, and cannot become one.
    guard try PathParts.exists(slots.controlPath) || !slots.list().isEmpty else { return nil }
    return (slots, reason)
  }

  private static func path(of directory: URL) throws -> (path: String, name: String) {
    let path = directory.path
    guard directory.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
      throw StorageError(
        .inputOutput, "The path of the store is empty, contains a NUL byte or is not a file path.",
        advice: "Give the path of a directory.", location: "file:\(path)")
    }
    return (path, "file:\(path)")
  }

  private static func canonical(_ path: String, _ name: String) throws -> String {
    guard let canonical = realpath(path, nil) else {
      throw StorageError.fileSystem("realpath", path: path, errno: errno, location: name)
    }
    defer { free(canonical) }
    return String(cString: canonical)
  }

  /// Throws `notFound` unless the directory has `.coffer` or an envelope. The journal may be missing; it is rebuilt. A
  /// directory with files of other programs is refused, or taken for a store, as the policy says.
  private static func requireStore(_ path: String, _ name: String, _ policy: ForeignData.Policy) throws {
    do {
      if try PathParts.exists(path) {
        try requireDirectory(path, name)
        if try PathParts.exists(path + "/" + controlName) { return }
        if let found = try ForeignFiles.recognize(in: path, location: name) {
          guard policy != .refuse else { throw StorageError.foreign(found) }
          return
        }
        // A store that has lost `.coffer`, which is rebuilt, is not an absent one.
        if try !ForeignFiles.envelopes(in: path, location: name).isEmpty { return }
      }
    } catch let error as StorageError {
      throw error.locating(at: name)
    }
    throw StorageError(
      .notFound, "There is no store at this path.", advice: "Check the path, or create the store by writing to it.",
      location: name)
  }

  private static func requireDirectory(_ path: String, _ name: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError.fileSystem("stat", path: path, errno: errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { return }
    throw StorageError(
      .notAStore, "\(path.escapingControlCharacters) is not a directory, and a store of files is one.",
      advice: "Give the path of a directory. Nothing was changed.", location: name)
  }
}
