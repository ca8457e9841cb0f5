import CofferSQLite
import Foundation

/// What is in a home: names, sizes and dates.
struct HomeContent {
  private enum Look {
    case found([Key: AuditReport.State])
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
    case .found(let states): (try? Key(name)).flatMap { states[$0] } ?? .absent
    case .empty: .absent
    case .failed(let reason): .unavailable(reason: reason)
    }
  }

  /// What is there and is none of these keys, nor the router's own.
  func strangers(besides own: Set<Key>) -> [AuditReport.Stranger] {
    guard case .found(let states) = look else { return [] }
    return states.keys.filter { !own.contains($0) && $0.string != StorageRouter.ownKey }.sorted().map { key in
      var size: Int?
      if case .present(let known, _)? = states[key] { size = known }
      return AuditReport.Stranger(name: key.string, home: description ?? "", size: size)
    }
  }
}

extension StorageEngine {
  /// The names of all values, with sizes and dates where they are told.
  fileprivate func contents() async throws -> [Key: AuditReport.State] {
    var states: [Key: AuditReport.State] = [:]
    if let slots = try? await opened(as: SlotEngine.self) {
      if let sizes = try? await slots.sizes() {
        for (key, size) in sizes { states[key] = .present(size: size, changed: try await slots.changeDate(of: key)) }
      } else {
        for key in try await slots.keys() {
          states[key] = .present(size: nil, changed: try await slots.changeDate(of: key))
        }
      }
      return states
    }
    let database = self as? SQLiteEngine
    var last: Key?
    while true {
      let page = try await withSnapshot { [last] in try await $0.page(prefix: nil, after: last, limit: 500) }
      if page.isEmpty { return states }
      for entry in page {
        states[entry.key] = .present(
          size: entry.value.count, changed: try await database?.commitDate(of: entry.revision))
      }
      last = page.last?.key
    }
  }
}
