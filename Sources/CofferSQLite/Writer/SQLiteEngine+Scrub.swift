import CofferCore
import Foundation

extension SQLiteEngine: ScrubbingEngine {
  /// Rewrites all pages of the database and empties its log.
  ///
  /// A deleted row stays in a free page, in the unused part of a page, and in the log. `PRAGMA secure_delete` clears it
  /// only in what is deleted afterwards, and a page that was split before keeps its copy: so every page is written
  /// anew.
  package func scrub(upTo limit: Int?) async throws -> Bool {
    let store = try openStore()
    return try await store.writer.perform { [file = store.file] _ in
      let connection = try Connection(file)
      let size = try (connection.number("PRAGMA page_count") ?? 0) * (connection.number("PRAGMA page_size") ?? 0)
      if let limit, size > limit { return false }
      // Otherwise the unused part of a new page is what its memory held before, such as an old page.
      try connection.execute("PRAGMA secure_delete = ON")
      try connection.execute("VACUUM")
      try connection.emptyLog()
      return true
    }
  }
}
