import CofferSQLite
import Foundation

/// The contents of a store: names, sizes and dates, or the reason why they cannot be read.
struct StoreContent {
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
      (look, description) = (.failed(error.message), error.location.isEmpty ? nil : error.location)
    }
  }

  func state(of name: String) -> AuditReport.State {
    switch look {
    case .found(let states): (try? StoreKey(name)).flatMap { states[$0] } ?? .absent
    case .empty: .absent
    case .failed(let reason): .unavailable(reason: reason)
    }
  }

  /// Returns the values whose keys are not in `own`.
  func undeclared(besides own: Set<StoreKey>) -> [AuditReport.UndeclaredValue] {
    guard case .found(let states) = look else { return [] }
    return states.keys.filter { !own.contains($0) }.sorted().map { key in
      var size: Int?
      if case .present(let known, _)? = states[key] { size = known }
      return AuditReport.UndeclaredValue(name: key.string, store: description ?? "", size: size)
    }
  }
}

extension StorageEngine {
  /// Returns the names of all values, with their sizes and dates where available.
  fileprivate func contents() async throws -> [StoreKey: AuditReport.State] {
    try await summaries().reduce(into: [:]) { $0[$1.key] = .present(size: $1.size, changed: $1.date) }
  }
}
