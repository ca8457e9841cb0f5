import Coffer
import CofferTerminal

/// `coffer doctor`: says what keeps a store from being used.
func examine(_ invocation: Invocation) async throws -> ExitStatus {
  let passphrases = try Passphrases(invocation)
  let locations = try invocation.locations()
  var findings = SystemChecks.all()
  if locations.isEmpty {
    do {
      findings += await StoreChecks(location: try StoreLocation.of(invocation), passphrases: passphrases).all()
    } catch let error as UsageError {
      findings.append(.problem("store", error.message, fix: "Set HOME, or name the store: coffer doctor STORE"))
    }
    // Nobody has said that secrets are to be there.
    findings += KeychainChecks.all().map(\.asWarning)
  }
  for location in locations {
    findings += await StoreChecks(location: location, passphrases: passphrases).all()
  }
  let problems = findings.filter { $0.verdict == .problem }.count
  let warnings = findings.filter { $0.verdict == .warning }.count
  if invocation.has(.json) {
    try print(.object([("problems", .number(problems)), ("findings", .list(findings.map(\.json)))]))
  } else {
    let output = Output.standard
    let width = min(findings.filter { $0.verdict == .ok }.map(\.subject.count).max() ?? 0, 24)
    for finding in findings { try output.write(finding.text(output.style, width: width, columns: output.columns)) }
    let counts = [(problems, "problem"), (warnings, "warning")].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }
    try output.writeLine(counts.isEmpty ? "Everything can be used." : counts.joined(separator: ", ") + ".")
    try output.flush()
  }
  return problems == 0 ? .ok : .failure
}
