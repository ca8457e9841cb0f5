import Coffer

/// `coffer doctor`: says what keeps a store from being used.
func examine(_ invocation: Invocation) async throws -> ExitStatus {
  let passphrases = try Passphrases(invocation)
  var findings = SystemChecks.all()
  if invocation.operands.isEmpty {
    findings += await StoreChecks(location: try StoreLocation.of(invocation), passphrases: passphrases).all()
    findings += KeychainChecks.all()
  } else {
    for location in try invocation.locations() {
      findings += await StoreChecks(location: location, passphrases: passphrases).all()
    }
  }
  let problems = findings.filter { $0.verdict == .problem }.count
  if invocation.has(.json) {
    try print(.object([("problems", .number(problems)), ("findings", .list(findings.map(\.json)))]))
  } else {
    let output = Output.standard
    let width = findings.map(\.subject.count).max() ?? 0
    for finding in findings { try output.write(finding.text(output.style, width: min(width, 32))) }
    try output.flush()
  }
  return problems == 0 ? .ok : .failure
}
