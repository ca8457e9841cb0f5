#if SecretService && os(Linux)
  import CofferCore
  import CofferFileSystem
  import Foundation

  /// Notices that a keyring was begun anew because its file could not be read.
  ///
  /// gnome-keyring leaves a truncated `login.keyring` as it is and begins `login_1.keyring`, under the name of the old
  /// collection and without a word: every secret looks absent then. So the names of the keyring files are noted beside
  /// the journal when values are stored.
  struct KeyringHistory: Sendable {
    private static let fileName = "keyrings"

    /// Where the keyring's files are.
    private let keyrings: String
    /// Where the names are noted.
    private let control: String
    private let noted = Locked<[String]?>(nil)

    init(of keyrings: String, notedIn control: String) {
      self.keyrings = keyrings
      self.control = control
    }

    private var present: [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: keyrings)) ?? []
      return names.filter { $0.hasSuffix(".keyring") && !$0.contains("\n") }.sorted()
    }

    /// Values are there: these files are those that hold them.
    func keep() {
      let names = present
      guard !names.isEmpty, noted.withLock({ $0 }) != names else { return }
      // Without the note, nothing is noticed later: no reason to refuse a secret now.
      let note = Data(names.joined(separator: "\n").utf8)
      guard let directory = try? OpenDirectory(control) else { return }
      do {
        try directory.replace(Self.fileName, with: note)
        noted.withLock { $0 = names }
      } catch {}
    }

    /// The error when there is a new file beside an old one that could not be read. It is to be asked when no value of
    /// ours is found.
    func problem() -> StorageError? {
      guard let note = FileManager.default.contents(atPath: control + "/" + Self.fileName) else { return nil }
      let before = String(decoding: note, as: UTF8.self).split(separator: "\n").map(String.init)
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
