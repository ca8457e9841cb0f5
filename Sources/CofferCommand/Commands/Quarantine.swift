import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// An action of `coffer quarantine`.
enum QuarantineAction: String, CaseIterable, Sendable {
  case list, show, restore, empty

  /// The largest number of operands that follow the action.
  fileprivate var operands: ClosedRange<Int> {
    switch self {
    case .list: 0...0
    case .show: 1...1
    case .restore: 2...2
    case .empty: 0...1
    }
  }
}

/// Implements `coffer quarantine`, which shows, restores and removes damaged bytes.
func manageQuarantine(_ invocation: Invocation) async throws -> ExitStatus {
  guard let word = try invocation.text(at: 0), let action = QuarantineAction(rawValue: word) else {
    let names = QuarantineAction.allCases.map(\.rawValue).joined(separator: ", ")
    throw Command.mistake("'quarantine' takes one of \(names).", .quarantine)
  }
  guard action.operands.contains(invocation.operands.count - 1) else {
    throw Command.mistake(
      action == .list
        ? "'quarantine list' takes no operands." : "'quarantine \(word)' takes \(action.placeholders).", .quarantine)
  }
  let id = try invocation.text(at: 1) ?? ""
  let key = try invocation.text(at: 2).map(invocation.makeKey)
  if action == .empty, id.isEmpty { try invocation.requireTerminalOrConsent("quarantine empty") }
  return try await withQuarantine(invocation, action) { engine in
    guard let quarantine = engine.quarantine else {
      throw CommandError(
        .failure, "unsupported", "This kind of store has no quarantine.", store: engine.description)
    }
    let isJSON = invocation.has(.json)
    if [.show, .restore].contains(action) { try await requireQuarantined(id, quarantine) }
    switch action {
    case .list: try await list(quarantine, asJSON: isJSON)
    case .show:
      let bytes = try await quarantine.quarantinedBytes(id)
      if isJSON { try print(bytes.json(id)) } else { try show(bytes, on: .standard) }
    case .restore:
      guard let key else { break }
      let commit = try await quarantine.restoreQuarantined(id, as: key)
      if isJSON { try print(JSON.object(commit.members)) }
    case .empty: try await empty(quarantine, id, invocation)
    }
    return .ok
  }
}

/// Opens the store of an action. Its quarantine holds stored bytes, so listing and removing them needs neither a key
/// nor a key ring, which may be lost; hidden names are shown with the key only.
private func withQuarantine(
  _ invocation: Invocation, _ action: QuarantineAction, _ body: (any StorageEngine) async throws -> ExitStatus
) async throws -> ExitStatus {
  let sources = try KeySources(invocation)
  guard [.list, .empty].contains(action), !sources.areNamed else { return try await withStore(invocation, body) }
  let base = try await openStoredForm(
    of: StoreLocation.of(invocation), sources.passphrases, creating: false, access: invocation.access)
  return try await closing(base, after: body)
}

private func list(_ quarantine: any QuarantiningEngine, asJSON: Bool) async throws {
  let output = Output.standard
  for value in try await quarantine.quarantinedValues() {
    if asJSON {
      try output.writeLine(value.json.line)
      continue
    }
    let key = value.key.map { output.isTerminal ? $0.string.oneLine() : $0.string } ?? "-"
    let size = value.size.map { byteCount($0) } ?? "-"
    let date = value.date.formatted(.iso8601.dateSeparator(.dash).dateTimeSeparator(.standard))
    try output.writeLine("\(value.id.oneLine())  \(date)  \(size)  \(value.reason.rawValue)  \(key)")
  }
  try output.flush()
}

private func requireQuarantined(_ id: String, _ quarantine: any QuarantiningEngine) async throws {
  guard try await !quarantine.quarantinedValues().contains(where: { $0.id == id }) else { return }
  throw CommandError(
    .notFound, StorageError.Code.notFound.description, "The quarantine holds nothing with the id '\(id.oneLine())'.",
    store: quarantine.description)
}

private func empty(_ quarantine: any QuarantiningEngine, _ id: String, _ invocation: Invocation) async throws {
  let values = try await quarantine.quarantinedValues().filter { id.isEmpty || $0.id == id }
  if !id.isEmpty { try await requireQuarantined(id, quarantine) }
  if id.isEmpty, !values.isEmpty {
    let question = "Remove \(counted(values.count, "quarantined value")) for good?"
    try await invocation.askForConsent(question, otherwise: "Nothing was removed.")
  }
  try await quarantine.removeQuarantined(values.map(\.id))
  if invocation.has(.json) { try print(.object([("removed", .list(values.map { .text($0.id) }))])) }
}

extension QuarantineAction {
  fileprivate var placeholders: String {
    switch self {
    case .list: "no operands"
    case .show: "an ID"
    case .restore: "an ID and a KEY"
    case .empty: "an ID or nothing"
    }
  }
}

extension QuarantinedValue {
  fileprivate var json: JSON {
    .object([
      ("id", .text(id)), ("key", .optional(key?.string)),
      ("date", .text(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))),
      ("size", size.map { .number($0) } ?? .none), ("reason", .text(reason.rawValue)),
    ])
  }
}

extension Data {
  fileprivate func json(_ id: String) -> JSON {
    .object([("id", .text(id)), ("size", .number(count)), ("base64", .text(base64EncodedString()))])
  }
}
