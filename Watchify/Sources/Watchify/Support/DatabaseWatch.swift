import Coffer
import CofferTerminal
import Foundation
import WatchifyKit

/// Watches whether a long-running command may go on with its database.
///
/// A database that was replaced, by a backup for example, closes itself: no page could be shown and no shop be read any
/// more. And after a newer version has migrated the file, this one would write without knowing what has to be written.
final class DatabaseWatch: Sendable {
  private let following: Task<Void, Never>

  /// Calls a function at most once, with the error to end with.
  init(_ session: Session, onLoss: @escaping @Sendable (any Error) -> Void) {
    following = Task {
      let error = await Self.loss(of: session)
      if !Task.isCancelled { onLoss(error) }
    }
  }

  deinit { following.cancel() }

  /// Returns once the database is lost, or when cancelled.
  private static func loss(of session: Session) async -> any Error {
    for await _ in session.container.commits() {
      if let error = await newerVersion(session.container) { return error }
    }
    return CommandError(
      .failure, "replaced",
      "The database was replaced, moved or deleted while it was in use: \(session.file.path.oneLine()).",
      advice: "What had been stored until then is in the replaced file. Start again to use the present one.")
  }

  /// Returns the error for a database that a newer version has migrated; a database that fails otherwise may recover.
  private static func newerVersion(_ container: ModelContainer) async -> StorageError? {
    do {
      try await container.checkVersion()
      return nil
    } catch {
      guard let error = error as? StorageError, error.code == .newerFormat else { return nil }
      return error
    }
  }
}
