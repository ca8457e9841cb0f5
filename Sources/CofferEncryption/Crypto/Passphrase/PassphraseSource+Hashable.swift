import Foundation

extension PassphraseSource: Hashable {
  /// A line of a program's code.
  struct SourceLine: Hashable, Sendable {
    let fileID: String
    let line: UInt
  }

  /// The compared part of a source: its kind and its name.
  private enum Identity: Hashable {
    case file([UInt8])
    case descriptor(Int32)
    case systemdCredential([UInt8])
    case asking(String)
    case provided(SourceLine)
  }

  private var identity: Identity {
    switch kind {
    case .file(let url): .file(Array(url.standardizedFileURL.path.utf8))
    case .descriptor(let descriptor): .descriptor(descriptor.number)
    case .systemdCredential(let name): .systemdCredential(Array(name.utf8))
    case .asking(let name, _): .asking(name)
    case .provided(let line, _): .provided(line)
    case .shared(let shared): shared.source.identity
    }
  }

  /// Returns whether two sources are the same file, descriptor, credential or prompt, or were created by the same line
  /// of code. Reads no passphrase.
  public static func == (left: PassphraseSource, right: PassphraseSource) -> Bool { left.identity == right.identity }

  /// Hashes the kind and the name of the source.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  /// The name of the source for a comparison with another one, such as `the program (Shop/Keys.swift:12)`.
  package var nameInCode: String {
    if case .shared(let shared) = kind { return shared.source.nameInCode }
    if case .provided(let line, _) = kind { return "\(description) (\(line.fileID):\(line.line))" }
    return description
  }
}
