import CofferTerminal
import Foundation
import WatchifyKit

/// Adds a channel: `watchify notify add`.
struct ChannelAddition {
  private let invocation: Invocation
  private let name: String
  private let kind: ChannelKind

  init(_ invocation: Invocation, _ name: String) throws {
    self.invocation = invocation
    self.name = name
    let isName = (1...40).contains(name.utf8.count) && name.first?.isLetter == true
    guard isName, name.utf8.allSatisfy({ Self.isNameByte($0) }), !["desktop", "terminal"].contains(name) else {
      throw Command.mistake("A channel's NAME is a word of letters, digits and hyphens, such as 'phone'.", .notify)
    }
    let shape = invocation.options[.shape] ?? ChannelKind.json.rawValue
    guard let kind = ChannelKind(rawValue: shape.lowercased()) else {
      let names = ChannelKind.allCases.map(\.rawValue).joined(separator: ", ")
      throw Command.mistake("--shape takes one of \(names).", .notify)
    }
    self.kind = kind
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
    default: false
    }
  }

  func run(_ session: Session) async throws -> ExitStatus {
    let options = try options()
    let digest = try digest()
    guard try await !session.service.channels().contains(where: { $0.name == name }) else { throw taken }
    let secret = ChannelSecret(address: try address(), token: try token())
    let target: ChannelTarget
    do {
      target = try ChannelTarget(secret.address, kind: kind, allowsPrivate: options.allowsPrivate)
    } catch {
      throw CommandError(.usage, "invalidAddress", error.localizedDescription, advice: "Nothing was added.")
    }
    let channel = ChannelDTO(
      name: name, kind: kind, host: target.host, options: options, digest: digest, addedAt: Date())
    // The secret is stored first: a channel without one could not deliver.
    let secrets = try await session.secrets(asking: true)
    try await secrets.store(secret, for: channel.id)
    guard try await session.service.addChannel(channel) else {
      try await secrets.remove(channel.id)
      throw taken
    }
    if invocation.has(.json) {
      try print(.object([("added", .text(name)), ("shape", .text(kind.rawValue)), ("host", .text(target.host))]))
    } else {
      try printLine("Added \(name): \(kind.rawValue) at \(target.host). 'watchify notify test \(name)' tries it.")
    }
    return .ok
  }

  private var taken: CommandError {
    CommandError(
      .failure, "channelExists", "There is a channel '\(name)' already.",
      advice: "'watchify notify remove \(name)' removes it. Nothing was changed.")
  }

  // MARK: Arguments

  private func options() throws -> ChannelOptions {
    var options = ChannelOptions()
    options.allowsPrivate = invocation.has(.allowPrivate)
    options.certificates = try invocation.options[.certificates].map { path in
      let file = URL(fileURLWithPath: path).path
      guard access(file, R_OK) == 0 else {
        throw CommandError(
          .failure, "noCertificates", "The file '\(file.oneLine())' cannot be read.", advice: "Nothing was added.")
      }
      return file
    }
    options.user = invocation.options[.user]
    options.sender = invocation.options[.from]
    options.recipients = invocation.values(.to)
    let isMail = kind == .email
    guard isMail == (options.sender != nil), isMail == !options.recipients.isEmpty, isMail || options.user == nil else {
      throw Command.mistake(
        isMail
          ? "E-mail takes a sender and a recipient: --from ADDRESS --to ADDRESS."
          : "--user, --from and --to are for e-mail: --shape email.", .notify)
    }
    for address in options.recipients + [options.sender].compactMap({ $0 }) where !MailAddress.isValid(address) {
      throw Command.mistake("--from and --to take an address such as ada@example.org.", .notify)
    }
    return options
  }

  private func digest() throws -> DailyTime? {
    guard let text = invocation.options[.daily] else { return nil }
    guard let time = DailyTime(text) else { throw Command.mistake("--daily takes a time such as 08:00.", .notify) }
    return time
  }

  /// Returns the address, from the arguments unless it contains a token.
  private func address() throws -> String {
    let text = try invocation.text(at: 2)
    if let text, text != "-" {
      guard !kind.hasSecretAddress, !text.contains("?"), !text.contains("@") || kind == .matrix else {
        throw Command.mistake(
          "This address may contain a secret, which other users can read among the arguments: give - and the address "
            + "on standard input.", .notify)
      }
      return text
    }
    return try SecretInput.line("the address")
  }

  private func token() throws -> String? {
    if let path = invocation.options[.secretFrom] { return try SecretInput.read(from: path, "the secret") }
    switch kind {
    case .gotify, .matrix:
      throw Command.mistake("\(kind.rawValue) requires a token: --secret-from FILE, or - for standard input.", .notify)
    case .email where invocation.has(.user):
      throw Command.mistake("A user requires a password: --secret-from FILE, or - for standard input.", .notify)
    case .json, .ntfy, .discord, .slack, .email: return nil
    }
  }
}
