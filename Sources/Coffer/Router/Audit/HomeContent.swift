import CofferSQLite
import Foundation

/// What is in a home: names, sizes and dates.
struct HomeContent {
  private enum Look {
    case found([StoreKey: AuditReport.State])
    case empty
    case failed(String)
  }

  private let look: Look
  let description: String?

  init(_ open: () async throws -> (any StorageEngine)?) async {
    do {
      guard let engine = try await open() else {
        (look, description) = (.empty, nil)
        return
      }
      description = engine.description
      do { look = .found(try await engine.contents()) } catch {
        look = .failed(StoredError.storage(error).message)
      }
    } catch {
      let error = StoredError.storage(error)
      (look, description) = (.failed(error.message), error.backend.isEmpty ? nil : error.backend)
    }
  }

  func state(of name: String) -> AuditReport.State {
    switch look {
    case .found(let states): (try? StoreKey(name)).flatMap { states[$0] } ?? .absent
    case .empty: .absent
    case .failed(let reason): .unavailable(reason: reason)
    }
  }

  /// What is there and is none of these keys.
  func strangers(besides own: Set<StoreKey>) -> [AuditReport.Stranger] {
    guard case .found(let states) = look else { return [] }
    return states.keys.filter { !own.contains($0) }.sorted().map { key in
      var size: Int?
      if case .present(let known, _)? = states[key] { size = known }
      return AuditReport.Stranger(name: key.string, home: description ?? "", size: size)
    }
  }
}

extension StorageEngine {
  /// The names of all values, with sizes and dates where they are told.
  fileprivate func contents() async throws -> [StoreKey: AuditReport.State] {
    try await summaries().reduce(into: [:]) { $0[$1.key] = .present(size: $1.size, changed: $1.date) }
  }
}
