import CofferRouter
import Foundation
import WatchifyKit

extension Session {
  /// The name of the systemd credential with the passphrase of the channels' secrets.
  private static let credential = "watchify"

  /// Returns the secrets of channels. The store for secrets is opened when one is used.
  /// - Parameter asking: whether a passphrase may be asked for at the terminal.
  func secrets(asking: Bool = false) async throws -> ChannelSecrets {
    ChannelSecrets(beside: file, passphrase: try await passphrase(asking: asking))
  }

  private func passphrase(asking: Bool) async throws -> PassphraseSource {
    if let folder = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"],
      FileManager.default.fileExists(atPath: "\(folder)/\(Self.credential)")
    {
      return .systemdCredential(Self.credential)
    }
    let path = try await container.settings.get(StorageKeys.secretsPassphraseFile)
    if !path.isEmpty { return .file(URL(fileURLWithPath: path)) }
    if asking, isatty(STDERR_FILENO) == 1 { return .terminal(prompt: "Passphrase of the channels' secrets: ") }
    return .provided {
      throw StorageError(
        .unavailable,
        "There is no keyring, and no passphrase for the sealed file with the channels' secrets is known.",
        advice: "Put one into a file that only you can read: watchify settings secretsPassphraseFile FILE; or pass the "
          + "systemd credential '\(Self.credential)'.")
    }
  }
}
