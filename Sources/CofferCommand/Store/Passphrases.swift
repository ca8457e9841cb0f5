import Coffer
import CofferTerminal
import Foundation

/// The sources of a sealed store's passphrase. An argument is none of them, since other users can see it.
struct Passphrases: Sendable {
  /// The name of the systemd credential with the passphrase: `LoadCredential=coffer-passphrase:...`
  static let credential = "coffer-passphrase"

  /// The environment setting that keeps a shell completion from prompting for a passphrase.
  static let neverAsk = "COFFER_NEVER_ASK=1"

  private let file: String?
  private let descriptor: PassphraseSource?

  init(_ invocation: Invocation) throws {
    file = invocation.options[.passphraseFile]
    descriptor = try Self.descriptor(invocation)
    guard file == nil || descriptor == nil else {
      throw UsageError(
        "Give \(Option.passphraseFile.name) or \(Option.passphraseDescriptor.name), not both.", invocation.command)
    }
  }

  /// Returns the source for `--passphrase-fd`, one for the whole command, since a descriptor can be read only once.
  private static func descriptor(_ invocation: Invocation) throws -> PassphraseSource? {
    guard let number = try invocation.number(.passphraseDescriptor, minimum: 0) else { return nil }
    // Checked before a store is opened, whose files could take the same number.
    guard let number = Int32(exactly: number), fcntl(number, F_GETFD) >= 0 else {
      throw UsageError(
        "The descriptor \(number) is not open: coffer ... \(Option.passphraseDescriptor.name) 3 3<FILE.",
        invocation.command)
    }
    return .descriptor(number)
  }

  /// Throws a usage error when the passphrase file does not exist, which implies nothing about the store.
  func refuseMissingFile() throws {
    guard let file, access(file, F_OK) != 0, errno == ENOENT else { return }
    throw UsageError("The passphrase cannot be read: there is no file \(file.oneLine()).")
  }

  /// Throws an error that names the possible sources when there is no passphrase and no terminal for a prompt.
  func refuseToAskNobody() throws {
    guard !areGiven else { return }
    let terminal = Foundation.open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal < 0 else {
      close(terminal)
      return
    }
    throw CommandError(
      .failure, StorageError.Code.unavailable.description,
      "The store needs a passphrase, and there is no terminal for a prompt.",
      advice: "Give \(Option.passphraseFile.name) PATH, \(Option.passphraseDescriptor.name) N, or the systemd "
        + "credential '\(Self.credential)'.")
  }

  /// Whether a passphrase is available without a prompt.
  var areGiven: Bool { file != nil || descriptor != nil || hasCredential }

  func source(for path: String) throws -> PassphraseSource {
    if let file { return .file(URL(fileURLWithPath: file)) }
    if let descriptor { return descriptor }
    if getenv("COFFER_NEVER_ASK") != nil, !hasCredential {
      return .provided { throw StorageError(.unavailable, "A passphrase is needed; COFFER_NEVER_ASK bans a prompt.") }
    }
    return hasCredential ? .systemdCredential(Self.credential) : .terminal(prompt: "Passphrase of \(path.oneLine()): ")
  }

  private var hasCredential: Bool {
    guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else { return false }
    return access(directory + "/" + Self.credential, F_OK) == 0
  }

  /// Returns the doctor's findings about the passphrase file: unreadable, or readable by other users.
  func findings(for store: String) -> [Finding] {
    guard let file else { return [] }
    var status = stat()
    guard stat(file, &status) == 0, access(file, R_OK) == 0 else {
      return [
        .problem(
          store, "The passphrase cannot be read from \(file).",
          fix: "Check the path; this user must be able to read it.")
      ]
    }
    guard status.st_mode & 0o077 == 0 || status.st_mode & S_IFMT != S_IFREG else {
      return [
        .warning(store, "Other users may read the passphrase in \(file).", fix: "chmod 600 \(file.quotedForShell)")
      ]
    }
    return []
  }
}
