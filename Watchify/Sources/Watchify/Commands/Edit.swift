import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify edit`: changes the name, address, country or headers of a store.
func editStore(_ invocation: Invocation) async throws -> ExitStatus {
  guard let text = try invocation.text(at: 0) else { throw Command.mistake("'edit' needs a STORE.", .edit) }
  let name = invocation.options[.name]?.trimmingCharacters(in: .whitespacesAndNewlines)
  if name?.isEmpty == true { throw Command.mistake("--name takes a name that is not empty.", .edit) }
  let address = invocation.options[.address]
  let country = try invocation.country()
  let given = try invocation.headers()
  let forgets = invocation.has(.forgetHeaders)
  guard name != nil || address != nil || country != nil || !given.isEmpty || forgets else {
    throw Command.mistake(
      "'edit' takes at least one of --name, --address, --country, --header and --forget-headers.", .edit)
  }
  guard given.isEmpty || !forgets else {
    throw Command.mistake("--header and --forget-headers exclude each other.", .edit)
  }
  return try await withSession(invocation) { session in
    let store = try session.store(text, .edit)
    let headers = given.isEmpty && !forgets ? nil : given
    let hadHeaders = try await !session.service.headers(storeId: store.id).isEmpty
    if let address { try await session.service.moveStore(id: store.id, to: address, headers: given) }
    try await session.service.updateStore(id: store.id, name: name, country: country, headers: headers)
    guard let edited = try await session.service.stores().first(where: { $0.id == store.id }) else {
      throw SyncFailure.storeNotFound
    }
    let kept = try await session.service.headers(storeId: store.id)
    if invocation.has(.json) {
      let list = kept.map { JSON.object([("name", .text($0.name)), ("expiresAt", .date($0.expiresAt))]) }
      try print(.object(edited.members + [("headers", .list(list))]))
    } else {
      if name != nil {
        let (old, new) = (store.name.oneLine(limit: longestTitle), edited.name.oneLine(limit: longestTitle))
        try printText("\(old) is now called \(new).")
      }
      if address != nil {
        let lost = hadHeaders && given.isEmpty ? " Its additional headers were not taken along." : ""
        try printText("\(edited.name.oneLine(limit: longestTitle)) is synced at \(edited.domain) from now on.\(lost)")
      }
      if let country {
        try printText("The next sync of \(edited.domain) shows the prices of \(country), with one notice.")
      }
      if headers != nil { try tell(edited, kept) }
    }
    return .ok
  }
}

private func tell(_ store: StoreDTO, _ headers: [(name: String, expiresAt: Date?)]) throws {
  let names = headers.map { header in
    header.name + (header.expiresAt.map { " (until \(Moment.day($0.addingTimeInterval(-1))))" } ?? "")
  }
  let what = names.isEmpty ? "without additional headers" : "with \(names.joined(separator: ", "))"
  try printText("\(store.domain) is requested \(what).")
}
