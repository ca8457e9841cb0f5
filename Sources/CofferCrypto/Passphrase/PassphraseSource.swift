import CofferCore
public import Foundation

/// Where the passphrase of a store comes from.
///
/// ```swift
/// let source: PassphraseSource = isService ? .systemdCredential("shop-store") : .file(words)
/// ```
///
/// There is no source for an argument of a command or a variable of the environment: other users and every child
/// process can read those.
///
/// A newline (LF or CRLF) at the end does not belong to the passphrase, whatever the source, so the same words make the
/// same key from a file, from a terminal and from a program. An empty passphrase is refused, and so is one of more than
/// 64 KiB. Messages name the source and never its content.
public struct PassphraseSource: Sendable {
  enum Kind: Sendable {
    case file(URL)
    case descriptor(OneTimeDescriptor)
    case systemdCredential(String)
    case asking(String, @Sendable (PassphraseSource, _ confirming: Bool) throws -> SecretBytes)
    case provided(@Sendable () throws -> Data)
  }

  let kind: Kind

  /// A file, a named pipe, or what a shell makes of `<(pass show shop)`. It is read to its end.
  public static func file(_ url: URL) -> PassphraseSource { PassphraseSource(kind: .file(url)) }

  /// An open file, pipe or socket, such as one inherited from the process that started this one.
  ///
  /// It is read to its end, once, and then closed. Give each descriptor away once: its number may belong to another
  /// file afterwards.
  public static func descriptor(_ descriptor: Int32) -> PassphraseSource {
    PassphraseSource(kind: .descriptor(OneTimeDescriptor(descriptor)))
  }

  /// A credential that systemd gives a service (`LoadCredential=` or `LoadCredentialEncrypted=` in its unit).
  public static func systemdCredential(_ name: String) -> PassphraseSource {
    PassphraseSource(kind: .systemdCredential(name))
  }

  /// A person, whom a floor above knows how to ask.
  /// - Parameters:
  ///   - name: where the person is, such as `the terminal`.
  ///   - ask: asks, twice when it is to confirm; it is given the source, which words its errors.
  package static func asking(
    _ name: String, _ ask: @escaping @Sendable (PassphraseSource, _ confirming: Bool) throws -> SecretBytes
  ) -> PassphraseSource {
    PassphraseSource(kind: .asking(name, ask))
  }

  /// What a program has from somewhere else, a key ring for example.
  ///
  /// ```swift
  /// let source = PassphraseSource.provided { Data(try keyRing.secret(named: "shop").utf8) }
  /// ```
  public static func provided(_ provide: @escaping @Sendable () throws -> Data) -> PassphraseSource {
    PassphraseSource(kind: .provided(provide))
  }
}

extension PassphraseSource: CustomStringConvertible {
  /// The source, such as `the file '/run/shop/passphrase'`; never what it holds.
  public var description: String {
    switch kind {
    case .file(let url): "the file '\(url.path.escapingControlCharacters)'"
    case .descriptor(let descriptor): "the file descriptor \(descriptor.number)"
    case .systemdCredential(let name): "the systemd credential '\(name.escapingControlCharacters)'"
    case .asking(let name, _): name
    case .provided: "the program"
    }
  }
}

/// What a source finds around it; tests bring their own.
package struct PassphraseSurroundings: Sendable {
  package var credentialsDirectory: @Sendable () -> String?

  package init(credentialsDirectory: @escaping @Sendable () -> String?) {
    self.credentialsDirectory = credentialsDirectory
  }

  package static let system = PassphraseSurroundings(
    credentialsDirectory: { ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] })
}
