import CofferCore
public import Foundation

/// A source of the root key of an encrypted store: a passphrase, or random key material from a file, a systemd
/// credential, a descriptor or a provider.
///
/// ```swift
/// let key: RootKeySource = isService ? .systemdCredential("shop-key") : .passphrase(.terminal())
/// ```
///
/// The root key seals the store's key ring and nothing else. A passphrase is made expensive to guess with scrypt (RFC
/// 7914; 128 MiB and about half a second), whose parameters are in the ring. Key material is already random, so it only
/// goes through HKDF-SHA-256 (RFC 5869) with the ring's salt, which takes no time. **Key material must be random**: use
/// `head -c 32 /dev/urandom`, `openssl rand -hex 32` or the like, and `.passphrase` for anything that a human invented.
///
/// Key material has 32 bytes to 64 KiB. It may be text, whose trailing newline (LF or CRLF) does not count. The same
/// material opens a store from any source, so a key can move from a file to a credential or a provider. Error messages
/// name the source and never contain what it provided.
public struct RootKeySource: Sendable {
  enum Kind: Sendable {
    case passphrase(PassphraseSource, PassphraseLimits, ScryptCost)
    case material(PassphraseSource)
    case provider(any KeyMaterialProviding, KeyMaterialSource, Duration)
  }

  let kind: Kind

  /// A passphrase.
  /// - Parameters:
  ///   - source: the source of the passphrase. A terminal prompts twice when a store is created.
  ///   - limits: the maximum cost of trying the passphrase, which the store determines. A store that demands more is
  ///     refused before the passphrase is requested.
  public static func passphrase(
    _ source: PassphraseSource, limits: PassphraseLimits = PassphraseLimits()
  ) -> RootKeySource {
    passphrase(source, limits: limits, cost: .standard)
  }

  /// A passphrase with the given cost for new key rings; tests use a low one.
  package static func passphrase(
    _ source: PassphraseSource, limits: PassphraseLimits = PassphraseLimits(), cost: ScryptCost
  ) -> RootKeySource {
    RootKeySource(kind: .passphrase(source, limits, cost))
  }

  /// A file with key material, or a named pipe, which is read to its end.
  ///
  /// A regular file that users other than its owner can read or write is refused, as is one of another user than the
  /// program's or root; a program of root reads it.
  public static func file(_ url: URL) -> RootKeySource { RootKeySource(kind: .material(.file(url))) }

  /// The file with key material at a path, as for a URL.
  public static func file(_ path: String) -> RootKeySource { file(URL(fileURLWithPath: path)) }

  /// Key material from a source of bytes that is no prompt.
  package static func keyMaterial(_ source: PassphraseSource) -> RootKeySource {
    RootKeySource(kind: .material(source))
  }

  /// Key material that systemd passes to a service (`LoadCredential=` or `LoadCredentialEncrypted=` in its unit).
  public static func systemdCredential(_ name: String) -> RootKeySource {
    RootKeySource(kind: .material(.systemdCredential(name)))
  }

  /// Key material from an open file, pipe or socket, which is read to its end, once, and then closed.
  ///
  /// Pass each descriptor to one source only, and open one store with that source.
  public static func descriptor(_ descriptor: Int32) -> RootKeySource {
    RootKeySource(kind: .material(.descriptor(descriptor)))
  }

  /// Key material from a provider.
  /// - Parameters:
  ///   - provider: the provider.
  ///   - name: the name of the material, which is passed to the provider.
  ///   - timeout: the longest wait for the provider; 30 seconds by default. Then opening the store throws
  ///     `unavailable`, and the provider's task is cancelled.
  public static func provider(
    _ provider: any KeyMaterialProviding, named name: KeyMaterialSource, timeout: Duration = .seconds(30)
  ) -> RootKeySource {
    RootKeySource(kind: .provider(provider, name, timeout))
  }
}

extension RootKeySource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the source, such as `the file '/etc/shop/key'`; never its contents.
  public var description: String {
    switch kind {
    case .passphrase(let source, _, _), .material(let source): source.description
    case .provider(_, let name, _): "the key provider '\(name.id.escapingControlCharacters)'"
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RootKeySource: Hashable {
  /// The compared part of a source: its kind and its name.
  private enum Identity: Hashable {
    case passphrase(PassphraseSource)
    case material(PassphraseSource)
    case provider(KeyMaterialSource, ObjectIdentifier, AnyHashable?)
  }

  private var identity: Identity {
    switch kind {
    case .passphrase(let source, _, _): .passphrase(source)
    case .material(let source): .material(source)
    case .provider(let provider, let name, _):
      .provider(name, ObjectIdentifier(type(of: provider)), (provider as? any Hashable).map { AnyHashable($0) })
    }
  }

  /// Returns whether two sources have the same kind and name, such as the same file. Providers must also have the same
  /// type and, if they are `Hashable`, be equal. Reads nothing.
  public static func == (left: RootKeySource, right: RootKeySource) -> Bool { left.identity == right.identity }

  /// Hashes the kind and the name of the source.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
