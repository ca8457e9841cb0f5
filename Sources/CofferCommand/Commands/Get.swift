import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Implements `coffer get`, which prints a value.
func getValue(_ invocation: Invocation) async throws -> ExitStatus {
  guard let key = try invocation.keys().first else { throw Command.mistake("'get' needs a KEY.", .get) }
  let (found, store) = try await withStore(invocation, for: .values([key])) { engine in
    let entry = try await engine.entry(key)?.checkedForEnvelope(engine)
    if entry == nil { try await engine.requireShownNames() }
    return (entry, engine.description)
  }
  guard let entry = found else {
    throw CommandError(
      .notFound, StorageError.Code.notFound.description, "There is no key '\(key.string.oneLine())' in \(store).",
      key: key, store: store)
  }
  if invocation.has(.json) {
    try print(entry.json)
  } else {
    try show(entry.value, on: .standard)
  }
  return .ok
}

func show(_ value: Data, on output: Output) throws {
  guard output.isTerminal else { return try output.write(value) }
  guard let text = String(validating: value, as: UTF8.self), text.isShowable else {
    throw CommandError(
      .failure, "binaryValue",
      "The value is \(counted(value.count, "byte")) of binary data, which a terminal cannot show.",
      advice: "Redirect it, coffer get KEY > FILE, or use --json, which gives base64.")
  }
  let shown = text.escapingInLines
  try output.write(shown.isEmpty || shown.utf8.last == UInt8(ascii: "\n") ? shown : shown + "\n")
  try output.flush()
}

extension StoreEntry {
  fileprivate var json: JSON {
    var members: [(StaticString, JSON)] = [
      ("key", .text(key.string)), ("size", .number(value.count)), ("revision", .number(revision.rawValue)),
      ("base64", .text(value.base64EncodedString())),
    ]
    if let text = String(validating: value, as: UTF8.self) { members.append(("text", .text(text))) }
    return .object(members + attributes.expiryMembers)
  }
}

extension StoreEntry {
  /// Returns the entry, unless it is an encrypted value of a store that has lost its key ring.
  func checkedForEnvelope(_ engine: any StorageEngine) throws -> StoreEntry {
    guard attributes.isSealed else { return self }
    throw StorageError.ringIsLost(location: engine.description, key: key)
  }
}
