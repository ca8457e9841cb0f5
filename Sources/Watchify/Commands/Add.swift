import Coffer
import CofferTerminal
import Foundation
import WatchifyKit

/// `watchify add`: follows a store.
func addStore(_ invocation: Invocation) async throws -> ExitStatus {
  guard let address = try invocation.text(at: 0) else { throw UsageError("'add' needs an ADDRESS.", .add) }
  let domain = try ShopAddress(address).domain
  let country = try country(invocation)
  let headers = try invocation.values(.header).map(header)
  return try await interruptible {
    try await withSession(invocation, address: domain) { session in
      let progress = ProgressFeed(isShown: !invocation.has(.json), "Reading \(domain):")
      progress.show("asking what it is")
      defer { progress.end() }
      let id: UUID
      do {
        id = try await session.service.addStore(
          name: invocation.options[.name], domain: address, country: country, headers: headers
        ) { products, page in progress.show("\(counted(products, "product")), page \(page)") }
      } catch let error as SyncError {
        var failure = CommandError(sync: error)
        failure.text = "\(domain) was not added: " + failure.text
        throw failure
      }
      progress.end()
      let variants = try await session.service.variantCount(storeId: id)
      guard let store = try await session.service.stores().first(where: { $0.id == id }) else {
        throw SyncError.storeNotFound
      }
      try await tell(store, variants, session, asJSON: invocation.has(.json))
      return .ok
    }
  }
}

private func tell(_ store: StoreDTO, _ variants: Int, _ session: Session, asJSON: Bool) async throws {
  let watch = WatchMark.look(beside: session.file)
  let next = try await nextLook(session, after: store.addedAt)
  guard !asJSON else {
    return try print(
      .object(
        store.members + [
          ("variants", .number(variants)), ("nextCheck", .date(next)), ("isWatched", .flag(watch.isWatched)),
        ]))
  }
  let output = Output.standard
  let place = store.country.map { " (country \($0))" } ?? ""
  let currency = store.currency.map { "prices in \($0)" } ?? "prices in a currency that it does not name"
  try output.writeLine("\(store.name.oneLine(limit: 80)): Shopify, \(currency)\(place)")
  try output.writeLine(
    "Imported \(counted(store.cachedProductCount, "product")), \(counted(variants, "variant")). "
      + "No alerts for what is already there; next check \(Moment.text(next)).")
  try output.flush()
  if !watch.isWatched {
    try Output.error.note("Nobody looks by itself yet: leave 'watchify watch' running, or run 'watchify sync'.")
  }
}

/// When stores are read next: what a running watch says, else one interval after a moment.
func nextLook(_ session: Session, after date: Date) async throws -> Date {
  if let next = WatchMark.look(beside: session.file).next { return next }
  let minutes = try await session.container.settings.get(StorageKeys.syncIntervalMinutes)
  return date.addingTimeInterval(Double(max(5, minutes)) * 60)
}

private func country(_ invocation: Invocation) throws -> String? {
  guard let text = invocation.options[.country]?.uppercased() else { return nil }
  guard text.utf8.count == 2, text.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
    throw UsageError("--country takes two letters, such as US or GB.", .add)
  }
  return text
}

/// A header as it was typed. No error repeats it: its value is a secret.
private func header(_ text: String) throws -> StoreHeader {
  let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
  let isName = parts.first?.utf8.allSatisfy { byte in
    byte > 0x20 && byte < 0x7F && !"()<>@,;\\\"/[]?={}".utf8.contains(byte)
  }
  let isValue = parts.last?.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  guard parts.count == 2, parts[0] != "", parts[1] != "", isName == true, isValue == true else {
    throw UsageError("--header takes a name, a colon and a value: --header 'Signature-Agent: ...'.", .add)
  }
  return StoreHeader(name: parts[0], value: parts[1])
}
