public import CofferCore
import CofferFileSystem
import Foundation

extension StorageEngine {
  /// Takes over the values that another library has stored: reads, decodes and commits them in batches, reads them
  /// back and compares, and then leaves or removes the originals.
  ///
  /// A typed read returns the value that the other library was given. A key that exists is never overwritten unless
  /// ``TakeOverOptions/conflicts`` says so. Each original is removed after the commit of its value with full
  /// durability, and only if it has not changed since. A value that cannot be read is reported; the others are taken.
  ///
  /// The directory of a store of files that was opened with ``ForeignDataPolicy/takeOver`` is taken over in place: each
  /// file that is taken gets Coffer's form and the name of its key, in one commit, and all others stay as they are.
  /// Until everything was taken, no other opening of the directory takes it for a store. Of a directory that is a store
  /// already, only the files are taken that another program has stored since in its own form.
  ///
  /// - Returns: The running take-over. Its ``TakeOver/result()`` throws `StorageError`: `unsupported` if the store
  ///   lacks preconditions or the durability for removing originals, or is in the source itself; the errors of the
  ///   source and of commits.
  public func takeOver(from source: LegacySource, options: TakeOverOptions = TakeOverOptions()) -> TakeOver {
    TakeOver { run in try await TakeOverWork(engine: self, source: source, options: options).run(run) }
  }
}

extension LegacySource {
  /// Checks that the source can be read, and has no files of the store, before the store is created.
  /// - Throws: `StorageError`: `unsupported`, and the errors of the source.
  package func check(against location: StoreLocation) throws {
    let source = try located()
    guard !source.isStore(at: location.description) else { return }
    try refuseStore(location.description, in: source)
    _ = try source.open(limit: 0, keepsPreferenceTypes: true)
  }
}

extension LegacySource {
  /// Whether the source is the directory of a store of files at a location: the store is to be taken over in place.
  package func isStore(at description: String) -> Bool {
    guard case .files(let origin, _) = self, case .files(let store)? = try? StoreLocation(description) else {
      return false
    }
    return resolved(origin) == resolved(store)
  }
}

/// Refuses a store whose own files would be read as originals.
func refuseStore(_ description: String, in source: LegacySource) throws {
  guard let location = try? StoreLocation(description) else { return }
  if case .chain(let links) = location {
    for link in links { try refuseStore(link.description, in: source) }
    return
  }
  if case .keychain(let service, let group, _) = source {
    guard location == .keychain(service: service, accessGroup: group) else { return }
    throw storeIsSource(source, description)
  }
  guard let path = location.filePath, let original = source.filePath else { return }
  let (store, origin) = (resolved(path), resolved(original))
  var isInside = store == origin || origin.hasPrefix(store + "/")
  if case .files = source, PathParts(store).parent == origin {
    var status = stat()
    isInside = isInside || stat(store, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR
  }
  if isInside { throw storeIsSource(source, description) }
}

func storeIsSource(_ source: LegacySource, _ description: String) -> StorageError {
  StorageError(
    .unsupported, "The source contains the values of the store itself.",
    advice: "Take the values over into a store outside of \(source.path.escapingControlCharacters). "
      + "Nothing was changed.",
    location: description)
}

/// Returns the canonical path, also of a store that is not created yet in a directory that exists.
private func resolved(_ path: String) -> String { PathParts.canonical(path) ?? path }

extension StoreLocation {
  /// The path of the file or directory of the store, or `nil` if it has none.
  fileprivate var filePath: String? {
    switch self {
    case .sqlite(let path), .sealed(let path): path
    case .files(let directory): directory
    case .encrypted(let base): base.filePath
    case .memory, .preferences, .keychain, .chain, .other: nil
    }
  }
}
