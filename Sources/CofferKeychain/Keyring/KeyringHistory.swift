import CofferLocks

#if SecretService && os(Linux)
  import CofferCore
  import CofferFileSystem
  import Foundation

  /// Notices that a keyring was begun anew because its file could not be read, and that another one is the default now.
  ///
  /// gnome-keyring leaves a truncated `login.keyring` as it is and begins `login_1.keyring`, under the name of the old
  /// collection and without a word: every secret looks absent then, as it does when somebody chooses another default
  /// keyring. So the names of the keyring files and the path of the collection are noted beside the journal when
  /// values are stored.
  struct KeyringHistory: Sendable {
    private static let fileName = "keyrings"

    /// Where the keyring's files are.
    private let keyrings: String
    /// Where the names are noted.
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

    /// Values are there: these files are those that hold them, and this is their collection.
    func keep(_ collection: KeyringItemPath?) {
      // No file's name has a slash: who knows nothing of the path takes it for a file that is gone.
      let lines = present + (collection.map { [$0.description] } ?? [])
      let note = Data(lines.joined(separator: "\n").utf8)
      guard !lines.isEmpty, noted.withLock({ $0 }) != note else { return }
      // Without the note, nothing is noticed later: no reason to refuse a secret now.
      guard let directory = try? OpenDirectory(control) else { return }
      do {
        try directory.replace(Self.fileName, with: note)
        noted.withLock { $0 = note }
      } catch {}
    }

    /// The lines of the note; `nil` while there is none.
    private var note: [String]? {
      FileManager.default.contents(atPath: control + "/" + Self.fileName).map {
        String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init)
      }
    }

    /// The collection in which a value was stored last, the default one then, where that was noted.
    var collection: KeyringItemPath? { note?.lazy.compactMap { KeyringItemPath($0) }.first }

    /// The error when there is a new file beside an old one that could not be read. It is to be asked when no value of
    /// ours is found.
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
          .damaged, "The keyring could not read its file \(old) and has begun anew in \(new).",
          advice: "End the keyring, put a backup of \(old) in its place in \(keyrings) and remove \(new). "
            + "To begin without the old secrets, move \(old) away.")
      }
      return nil
    }
  }
#endif
