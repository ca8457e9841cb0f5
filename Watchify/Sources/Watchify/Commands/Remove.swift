import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify remove`: stops following a store and deletes its data.
func removeStore(_ invocation: Invocation) async throws -> ExitStatus {
  guard let text = try invocation.text(at: 0) else { throw Command.mistake("'remove' needs a STORE.", .remove) }
  return try await withSession(invocation) { session in
    let store = try session.store(text, .remove, isWhole: true)
    let losses = try await losses(store, session)
    if !invocation.has(.yes) {
      guard Input.isTerminal, isatty(STDERR_FILENO) == 1 else {
        throw Command.mistake(
          "'remove' would delete \(losses.text) of \(store.name.oneLine(limit: 60)), "
            + "and there is no terminal for a confirmation: add --yes.", .remove)
      }
      try Output.error.note("\(store.name.oneLine(limit: longestTitle)) (\(store.domain)): \(losses.text).")
      guard try await confirm("Delete all of it?", otherwise: "nothing was removed") else {
        throw CommandError(.failure, "notConfirmed", "Nothing was removed.")
      }
    }
    try await session.service.deleteStore(id: store.id)
    if invocation.has(.json) {
      try print(
        .object([
          ("removed", .text(store.id.uuidString)), ("name", .text(store.name)), ("domain", .text(store.domain)),
          ("products", .number(losses.products)), ("pricePoints", .number(losses.points)),
          ("events", .number(losses.events)), ("wishes", .number(losses.wishes)),
        ]))
    } else {
      try printText("\(store.name.oneLine(limit: longestTitle)) is no longer followed; \(losses.text) are deleted.")
    }
    return .ok
  }
}

/// The amount of data that is deleted with a store.
private struct Losses {
  var products: Int
  var points: Int
  var events: Int
  var wishes: Int
  var since: Date

  /// The amounts as text, such as "48 products with 213 price points since 9 Nov 2026, and 3 reported changes"
  var text: String {
    let news = counted(events, "reported change")
    let day = Moment.day(since)
    let date = ["Today", "Yesterday"].contains(day) ? day.lowercased() : day
    let wished = wishes == 0 ? "" : ", \(counted(wishes, "wish", plural: "wishes"))"
    return "\(counted(products, "product")) with \(counted(points, "price point")) since \(date)\(wished), and \(news)"
  }
}

private func losses(_ store: StoreDTO, _ session: Session) async throws -> Losses {
  let extent = try await session.service.extent(storeId: store.id)
  return Losses(
    products: extent.products, points: extent.snapshots, events: extent.events,
    wishes: try await session.service.wishes(storeId: store.id).count { $0.scope.storeId != nil }, since: store.addedAt)
}
