import Coffer
import CofferPostgreSQL
import CofferTerminal
import Foundation

/// An action of `coffer postgresql`.
enum PostgreSQLAction: String, CaseIterable, Sendable {
  case `init`, migrate, stores, grant, drop
}

extension PostgreSQLEngine.Configuration {
  /// The settings of the command, which waits through a failover.
  static var ofCommand: PostgreSQLEngine.Configuration {
    var configuration = PostgreSQLEngine.Configuration()
    configuration.failoverTimeout = .seconds(30)
    return configuration
  }
}

/// Implements `coffer postgresql`, for the owner of a database.
func administerPostgreSQL(_ invocation: Invocation) async throws -> ExitStatus {
  guard let word = try invocation.text(at: 0), let action = PostgreSQLAction(rawValue: word) else {
    let names = PostgreSQLAction.allCases.map(\.rawValue).joined(separator: ", ")
    throw Command.mistake("'postgresql' takes one of \(names).", .postgresql)
  }
  let role = try invocation.text(at: 1)
  guard (role != nil) == (action == .grant), role != "" else {
    throw Command.mistake(
      action == .grant ? "'postgresql grant' takes a ROLE." : "'postgresql \(word)' takes no operands.", .postgresql)
  }
  guard action == .grant || !invocation.has(.write) else {
    throw Command.mistake("--write belongs to 'postgresql grant'.", .postgresql)
  }
  let server = try PostgreSQLAdministration(postgresqlLocation(invocation), configuration: .ofCommand)
  switch action {
  case .`init`, .migrate: try await initialize(server, invocation)
  case .stores: try await listStores(server, asJSON: invocation.has(.json))
  case .grant:
    try await server.grant(role ?? "", mayWrite: invocation.has(.write))
    if invocation.has(.json) {
      try print(
        JSON.object([
          ("store", .text(server.store)), ("role", .text(role ?? "")), ("write", .flag(invocation.has(.write))),
        ]))
    }
  case .drop: try await drop(server, invocation)
  }
  return .ok
}

/// Returns the location of the store as text.
private func postgresqlLocation(_ invocation: Invocation) throws -> String {
  guard case .other("postgresql", let address) = try StoreLocation.of(invocation) else {
    throw Command.mistake(
      "'postgresql' needs a store in a PostgreSQL server: --store postgresql://HOST/DATABASE?store=NAME.", .postgresql)
  }
  return "postgresql:" + address
}

private func initialize(_ server: PostgreSQLAdministration, _ invocation: Invocation) async throws {
  let isNew = try await server.initialize()
  if invocation.has(.json) {
    try print(JSON.object([("store", .text(server.store)), ("created", .flag(isNew))]))
  } else {
    try? Output.error.note(
      isNew ? "The store '\(server.store.oneLine())' is ready." : "It exists already, and is up to date.")
  }
}

private func listStores(_ server: PostgreSQLAdministration, asJSON: Bool) async throws {
  let output = Output.standard
  for store in try await server.stores() {
    if asJSON {
      try output.writeLine(store.json.line)
    } else {
      let members = store.members.map { $0.role.oneLine() + ($0.mayWrite ? " (writes)" : "") }.joined(separator: ", ")
      let values = counted(store.values, "value")
      try output.writeLine(
        "\(store.name.oneLine())  \(values)  revision \(store.revision)" + (members.isEmpty ? "" : "  \(members)"))
    }
  }
  try output.flush()
}

private func drop(_ server: PostgreSQLAdministration, _ invocation: Invocation) async throws {
  try invocation.requireTerminalOrConsent("postgresql drop")
  try await invocation.askForConsent(
    "Remove the store '\(server.store.oneLine())' with all its values for good?", otherwise: "Nothing was removed.")
  guard try await server.drop() else {
    throw CommandError(.notFound, "notFound", "There is no such store.", store: server.location)
  }
  if invocation.has(.json) { try print(JSON.object([("dropped", .text(server.store))])) }
}

extension PostgreSQLAdministration.Store {
  fileprivate var json: JSON {
    .object([
      ("store", .text(name)), ("revision", .text(revision.description)), ("values", .number(values)),
      ("created", .text(created.formatted(.iso8601))),
      (
        "members",
        .list(members.map { .object([("role", .text($0.role)), ("write", .flag($0.mayWrite))]) })
      ),
    ])
  }
}
