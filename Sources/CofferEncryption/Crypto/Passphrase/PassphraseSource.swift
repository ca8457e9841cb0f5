import CofferCore
public import Foundation

/// A source of the passphrase of a store.
///
/// ```swift
/// let source: PassphraseSource = isService ? .systemdCredential("shop-store") : .file(words)
/// ```
///
/// There is no source for command arguments or environment variables, since other users and every child process can
/// read those.
///
/// One trailing newline (LF or CRLF) is removed for every source, so the same passphrase yields the same key from a
/// file, a terminal and a program. An empty passphrase and one of more than 64 KiB are refused. Error messages name the
/// source and never contain the passphrase.
public struct PassphraseSource: Sendable {
  enum Kind: Sendable {
    case file(URL)
    case descriptor(OneTimeDescriptor)
    case systemdCredential(String)
    case asking(String, @Sendable (PassphraseSource, _ confirming: Bool) throws -> SecretBytes)
    case provided(SourceLine, @Sendable () throws -> Data)
    case shared(SharedPassphrase)
  }

  let kind: Kind
  /// What is read, in the words of messages.
  var purpose = "passphrase"

  /// A file, a named pipe or a shell's process substitution such as `<(pass show shop)`. It is read to its end.
  ///
  /// Other users must not be able to read or change the file: reading it throws `permissionDenied` if its permissions
  /// let them, or if it belongs to another user than this one and root. A file in the directory of the credentials that
  /// systemd passes needs no permissions of its own.
  public static func file(_ url: URL) -> PassphraseSource { PassphraseSource(kind: .file(url)) }

  /// An open file, pipe or socket, such as one inherited from the process that started this one.
  ///
  /// It is read to its end, once, and then closed. Pass each descriptor to one source only, since its number may belong
  /// to another file afterwards.
  public static func descriptor(_ descriptor: Int32) -> PassphraseSource {
    PassphraseSource(kind: .descriptor(OneTimeDescriptor(descriptor)))
  }

  /// A credential that systemd passes to a service (`LoadCredential=` or `LoadCredentialEncrypted=` in its unit).
  public static func systemdCredential(_ name: String) -> PassphraseSource {
    PassphraseSource(kind: .systemdCredential(name))
  }

  /// An interactive source, whose prompt a higher layer implements.
  /// - Parameters:
  ///   - name: the name of the source in messages, such as `the terminal`.
  ///   - ask: prompts for the passphrase, twice if `confirming`. It receives the source, which creates its errors.
  package static func asking(
    _ name: String, _ ask: @escaping @Sendable (PassphraseSource, _ confirming: Bool) throws -> SecretBytes
  ) -> PassphraseSource {
    PassphraseSource(kind: .asking(name, ask))
  }

  /// A closure of the program that returns the passphrase, for example from a key ring.
  ///
  /// ```swift
  /// let source = PassphraseSource.provided { Data(try keyRing.secret(named: "shop").utf8) }
  /// ```
  ///
  /// Closures cannot be compared: two such sources are equal if they are created in the same line of code.
  /// - Parameters:
  ///   - fileID: the file of the line; leave it at its default.
  ///   - line: the number of the line; leave it at its default.
  ///   - provide: returns the passphrase. Called once for each store that is opened.
  public static func provided(
    fileID: String = #fileID, line: UInt = #line, _ provide: @escaping @Sendable () throws -> Data
  ) -> PassphraseSource {
    PassphraseSource(kind: .provided(SourceLine(fileID: fileID, line: line), provide))
  }
}

extension PassphraseSource: CustomStringConvertible {
  /// The name of the source, such as `the file '/run/shop/passphrase'`; never its contents.
  public var description: String {
    switch kind {
    case .file(let url): "the file '\(url.path.escapingControlCharacters)'"
    case .descriptor(let descriptor): "the file descriptor \(descriptor.number)"
    case .systemdCredential(let name): "the systemd credential '\(name.escapingControlCharacters)'"
    case .asking(let name, _): name
    case .provided: "the program"
    case .shared(let shared): shared.source.description
    }
  }
}

/// The environment that sources read from; tests substitute their own.
package struct PassphraseSurroundings: Sendable {
  package var credentialsDirectory: @Sendable () -> String?

  package init(credentialsDirectory: @escaping @Sendable () -> String?) {
    self.credentialsDirectory = credentialsDirectory
  }

  /// Returns whether a file is in the directory of credentials. systemd protects the directory; the mode of a file in
  /// it may show an access control list for the service's user.
  package func passesCredential(_ path: String) -> Bool {
    guard let directory = credentialsDirectory(), directory.hasPrefix("/") else { return false }
    return (path as NSString).deletingLastPathComponent == (directory as NSString).standardizingPath
  }

  package static let system = PassphraseSurroundings(
    credentialsDirectory: { ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] })
}
