public import CofferCore
import CofferFileSystem
import Foundation

extension StorageEngine {
  /// Imports the values that another library has stored: reads, decodes and commits them in batches, reads them
  /// back and compares, and then leaves or removes the originals.
  ///
  /// A key that exists is never overwritten unless ``Import/Options/conflicts`` says so. Each original is removed
  /// after the commit of its value with full durability, and only if it has not changed since. A value that cannot be
  /// read is reported; the others are taken.
  ///
  /// - Returns: The running import. Its result throws `StorageError`: `unsupported` if the store
  ///   lacks preconditions or the durability for removing originals, or is in the source itself; the errors of the
  ///   source and of commits.
  public func `import`(from source: Import.Source, options: Import.Options = Import.Options()) -> Import.Run {
    let work = ImportWork(engine: self, source: source, options: options)
    return Import.Run(Import.State()) { (completed: $0.values, total: $0.totalValues) }.start { try await work.run($0) }
  }
}

extension Import.Source {
  /// Checks that the source can be read, and has no files of the store, before the store is created.
  /// - Throws: `StorageError`: `unsupported`, and the errors of the source.
  package func check(against location: StoreLocation) throws {
    try refuseStore(location.description)
    _ = try open(limit: 0, keepsPreferenceTypes: true)
  }

  /// Refuses a store whose own files would be read as originals.
  func refuseStore(_ description: String) throws {
    guard let location = try? StoreLocation(description) else { return }
    if case .chain(let links) = location {
      for link in links { try refuseStore(link.description) }
    }
    guard contains(location) else { return }
    throw StorageError(
      .unsupported, "The source contains the values of the store itself.",
      advice: "Import the values into a store outside of \(path.escapingControlCharacters). Nothing was changed.",
      location: description)
  }

  private func contains(_ location: StoreLocation) -> Bool {
    if case .keychain(let service, let group, _) = self {
      return location == .keychain(service: service, accessGroup: group)
    }
    guard let store = location.filePath.map(resolved) else { return false }
    let origin = resolved(path)
    if store == origin || origin.hasPrefix(store + "/") { return true }
    guard case .files = self, PathParts(store).parent == origin else { return false }
    var status = stat()
    return stat(store, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR
  }
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
