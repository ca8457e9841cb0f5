import CofferCore

#if SecretService && os(Linux)
  import CofferFileSystem
  import Foundation

  /// Detects that the keyring replaced an unreadable file with a new one, or that the default collection changed.
  ///
  /// gnome-keyring leaves a truncated `login.keyring` as it is and silently creates `login_1.keyring` under the name of
  /// the old collection. Every secret then looks absent, as it does when the user chooses another default keyring. So
  /// the names of the keyring files and the path of the collection are recorded beside the journal whenever values are
  /// stored.
  struct KeyringHistory: Sendable {
    private static let fileName = "keyrings"

    /// The path of the directory of the keyring's files.
    private let keyrings: String
    /// The path of the directory that contains the record.
    private let control: String
    private let noted = Locked<Data?>(nil)

    init(of keyrings: String, notedIn control: String) {
      self.keyrings = keyrings
      self.control = control
    }

    private var present: [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: keyrings)) ?? []
      return names.filter { $0.hasSuffix(".keyring") && !$0.contains("\n") }.sorted()
    }

    /// Records the present keyring files and the collection that values were stored in.
    func keep(_ collection: KeyringItemPath?) {
      // File names contain no slash, so older versions take the path for the name of a missing file.
      let lines = present + (collection.map { [$0.description] } ?? [])
      let note = Data(lines.joined(separator: "\n").utf8)
      guard !lines.isEmpty, noted.withLock({ $0 }) != note else { return }
      // Without the record a later replacement is not detected, which is no reason to fail this write.
      guard let directory = try? OpenDirectory(control) else { return }
      do {
        try directory.replace(Self.fileName, with: note)
        noted.withLock { $0 = note }
      } catch {}
    }

    /// The lines of the record, or `nil` if there is none.
    private var note: [String]? {
      FileManager.default.contents(atPath: control + "/" + Self.fileName).map {
        String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init)
      }
    }

    /// The collection that a value was last stored in, the default one at that time, or `nil` if none is recorded.
    var collection: KeyringItemPath? { note?.lazy.compactMap { KeyringItemPath($0) }.first }

    /// Returns the error for a new file beside a recorded one that could not be read, or `nil` if there is none. To be
    /// checked when no item of Coffer is found.
    func problem() -> StorageError? {
      guard let before = note else { return nil }
      let present = present
      for old in before where present.contains(old) {
        let new = present.first { name in
          guard !before.contains(name) else { return false }
          let rest = name.dropLast(".keyring".count).dropFirst(old.count - ".keyring".count)
          return name.hasPrefix(old.dropLast(".keyring".count)) && rest.first == "_" && Int(rest.dropFirst()) != nil
        }
        guard let new else { continue }
        return StorageError(
          .damaged, "The keyring could not read its file \(old) and created \(new) instead.",
          advice: "Stop the keyring, restore a backup of \(old) to \(keyrings) and remove \(new). "
            + "To start without the old secrets, move \(old) to another directory.")
      }
      return nil
    }
  }
#endif
