import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// The sources of the passphrase of a store. An argument is none of them, since other users can see it.
struct Passphrases: Sendable {
  /// The name of the systemd credential with the passphrase: `LoadCredential=coffer-passphrase:...`
  static let credential = "coffer-passphrase"

  /// The environment setting that keeps a shell completion from prompting for a passphrase.
  static let neverAsk = "COFFER_NEVER_ASK=1"

  /// The file that an option names.
  let file: SecretFile?
  /// The source that an option names. It is read once for the whole command, since a pipe can be read only once.
  private let named: PassphraseSource?
  /// Whether the systemd credential is a source: it is the present passphrase of a store, never a new one.
  private let usesCredential: Bool
  /// What opening a store does with data of another origin.
  var foreignData = ForeignData.Policy.refuse

  /// - Parameter file: the option that names a file.
  init(_ invocation: Invocation, file: Option = .passphraseFile) {
    usesCredential = file == .passphraseFile
    if invocation.has(.ignoreForeign) { foreignData = .ignore }
    self.file = invocation.options[file].map { SecretFile(path: $0, content: .passphrase) }
    named = invocation.options[file].map { PassphraseSource.file(URL(fileURLWithPath: $0)).readOnce() }
  }

  private init(usesCredential: Bool) {
    (file, named) = (nil, nil)
    self.usesCredential = usesCredential
  }

  /// The sources other than the named one.
  var withoutFile: Passphrases {
    var others = Passphrases(usesCredential: usesCredential)
    others.foreignData = foreignData
    return others
  }

  /// Throws an error that names the possible sources when there is no passphrase and no terminal for a prompt.
  func refuseToAskNobody() throws {
    guard !areGiven, !Self.hasTerminal else { return }
    throw CommandError(
      .failure, StorageError.Code.unavailable.description,
      "The store needs a passphrase, and there is no terminal for a prompt.",
      advice: "Give \(Option.passphraseFile.name) PATH, or the systemd credential '\(Self.credential)'.")
  }

  /// Whether there is a terminal for a prompt.
  static var hasTerminal: Bool {
    let terminal = Foundation.open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Whether a prompt is allowed and possible.
  static var mayAsk: Bool { getenv("COFFER_NEVER_ASK") == nil && hasTerminal }

  /// Whether an option names a source.
  var areNamed: Bool { named != nil }

  /// Whether a passphrase is available without a prompt.
  var areGiven: Bool { areNamed || hasCredential }

  /// - Parameter prompt: the beginning of the text that the terminal shows.
  func source(for path: String, prompt: String = "Passphrase") throws -> PassphraseSource {
    if let named { return named }
    if getenv("COFFER_NEVER_ASK") != nil, !hasCredential {
      return .provided { throw StorageError(.unavailable, "A passphrase is needed; COFFER_NEVER_ASK bans a prompt.") }
    }
    return hasCredential
      ? .systemdCredential(Self.credential)
      : PassphraseSource.terminal(prompt: "\(prompt) of \(path.oneLine()): ").readOnce()
  }

  private var hasCredential: Bool { usesCredential && Self.hasCredential(Self.credential) }

  /// Whether systemd has passed a credential to this process.
  static func hasCredential(_ name: String) -> Bool {
    guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else { return false }
    return access(directory + "/" + name, F_OK) == 0
  }
}
