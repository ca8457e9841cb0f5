import Coffer
import CofferPostgreSQL
import CofferTerminal

/// The findings about a store in a PostgreSQL server: what keeps its commits safe, and its stores apart.
struct PostgreSQLChecks {
  let store: String
  let address: String

  /// Returns the findings; the store itself is opened by its caller.
  func all() async -> [Finding] {
    do {
      let facts = try await PostgreSQLAdministration("postgresql:" + address).examine()
      return safety(facts) + tenancy(facts) + upkeep(facts)
    } catch {
      return [.problem(store, error)]
    }
  }

  private func safety(_ facts: PostgreSQLAdministration.Examination) -> [Finding] {
    var findings: [Finding] = []
    if !facts.synchronizes || !facts.writesFullPages {
      findings.append(
        .problem(
          store, "The server does not write safely: fsync or full_page_writes is off, so power loss damages it.",
          fix: "Set both to on in postgresql.conf, and restart the server."))
    }
    if facts.standbyNames.isEmpty {
      findings.append(
        .warning(
          store, "The server waits for no standby: what it has acknowledged is lost if it is.",
          fix: "For commits that survive it, set synchronous_standby_names = 'ANY 1 (…)'."))
    } else if facts.standbys == 0 {
      findings.append(
        .problem(
          store, "The server waits for standbys, and none of them is connected: no commit returns.",
          fix: "Start a standby of synchronous_standby_names, and look for it in pg_stat_replication."))
    } else {
      let number = facts.standbys.map { "; \($0) of them connected" } ?? ""
      findings.append(.ok(store, "waits for standbys\(number)"))
    }
    if !facts.hasChecksums {
      findings.append(
        .warning(
          store, "The server's pages have no checksums, so a damaged index can hide values.",
          fix: "Stop the server and run pg_checksums --enable."))
    }
    if !facts.isEncrypted, !facts.isLocal {
      findings.append(
        .problem(store, "The connection is not encrypted.", fix: "Set ssl = on, with a certificate, on the server."))
    }
    return findings
  }

  private func tenancy(_ facts: PostgreSQLAdministration.Examination) -> [Finding] {
    guard facts.seesEverything else { return [.ok(store, "role \(facts.role.oneLine()), kept to its stores")] }
    return [
      .warning(
        store, "The role \(facts.role.oneLine()) is a superuser or bypasses row security: it sees every store.",
        fix: "Use a role without either, and grant it the store: coffer postgresql grant ROLE --write")
    ]
  }

  private func upkeep(_ facts: PostgreSQLAdministration.Examination) -> [Finding] {
    guard facts.deadRows > 40 else { return [] }
    return [
      .warning(
        store, "\(facts.deadRows) % of the rows of values are dead, which slows reads down.",
        fix: "Look for old transactions in pg_stat_activity, then run VACUUM coffer.values.")
    ]
  }
}
