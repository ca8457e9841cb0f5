package import CofferCore
import CofferFileSystem
import Foundation

/// Recognizes the files of other programs in a directory that is not a store yet.
package enum ForeignFiles {
  /// The number of names at which counting ends.
  static let nameLimit = 10_000
  /// The number of files whose content is looked at.
  static let sampleCount = 16
  /// The number of bytes of a file that are looked at.
  static let sampleSize = 64 << 10

  /// Files that desktops and tools leave in any directory. They hold no values.
  private static let incidental = [
    ".DS_Store", ".directory", ".hidden", ".localized", ".nomedia", ".gitignore", ".gitkeep", ".keep", ".placeholder",
    "Thumbs.db", "desktop.ini",
  ]

  /// Describes the files in a directory that never was a store; `nil` for a store, and for a directory without files.
  ///
  /// A directory is a store once it has the control directory `.coffer`, with or without a journal in it. Links, pipes
  /// and subdirectories are not counted. A name with a hash and an encrypted value are evidence of a store that has
  /// lost this directory, which is rebuilt. Nothing is changed, no link is followed, and no more than
  /// the first files are counted and looked at.
  /// - Throws: `StorageError`: the errors of listing the directory.
  package static func recognize(in path: String, location: String) throws -> ForeignData? {
    let mark = path + "/" + FileSlots.controlName
    guard try !PathParts.exists(mark) else { return nil }
    let directory = try Directory(path, location: location)
    let limit = nameLimit + incidental.count + 1
    var names = try directory.fileNames(limit: limit).filter { !incidental.contains($0) }
    guard !names.isEmpty else { return nil }
    // Another process may have created the store, and its first values, meanwhile.
    guard try !PathParts.exists(mark) && !names.contains(where: FileName.isHashed) else { return nil }
    names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let hasMore = names.count > nameLimit
    var encodings: [ForeignData.Encoding: Int] = [:]
    for name in names.prefix(sampleCount) {
      // A file that cannot be read is counted all the same.
      guard let head = try? directory.head(name, limit: sampleSize) else { continue }
      if SealedValue.isPresent(in: head.data) { return nil }
      encodings[ForeignData.Encoding(recognizing: head.data, isWhole: head.size <= sampleSize), default: 0] += 1
    }
    return ForeignData(
      .directory, at: location, names: Array(names.prefix(nameLimit)), hasMore: hasMore, encodings: encodings)
  }

  /// The file with which earlier versions marked a directory while they converted its files in place.
  private static let formerMark = FileSlots.controlName + "/taking-over"

  /// Throws `foreignFormat` if the directory holds files of other programs that the configuration does not ignore.
  static func refuse(in path: String, location: String, unless policy: ForeignData.Policy) throws {
    guard policy == .refuse else { return }
    guard try !PathParts.exists(path + "/" + formerMark) else {
      throw StorageError(
        .foreignFormat,
        "An earlier version of Coffer began to convert the files of this directory in place, and has not completed it: "
          + "some still have the form of another program.",
        advice: "Complete it with that version, or set foreignData to .ignore to use all files as they are. "
          + "Nothing was changed.", location: location)
    }
    if let found = try recognize(in: path, location: location) { throw StorageError.foreign(found) }
  }

  /// Removes the mark of an earlier version from a directory whose files are used as they are.
  static func accept(in path: String) { unlink(path + "/" + formerMark) }

  /// Returns the names of the files whose values are envelopes. Reads the first bytes of each file and changes nothing.
  /// - Throws: `StorageError`: the errors of listing the directory.
  package static func envelopes(in path: String, location: String) throws -> [String] {
    let directory = try Directory(path, location: location)
    return try directory.fileNames().filter { name in
      // A file that cannot be read is reported by whoever reads its value.
      guard FileName.key(of: name) != nil || FileName.isHashed(name),
        let head = try? directory.head(name, limit: SealedValue.magic.count)
      else { return false }
      return SealedValue.isPresent(in: head.data)
    }
  }
}
