import Coffer
import CofferFileSystem
import CofferTerminal

/// Implements `coffer doctor`, which reports what prevents the use of a store.
func examine(_ invocation: Invocation) async throws -> ExitStatus {
  let named = try KeySources(invocation, forSeveralStores: true, requiringFiles: false)
  let (sources, secretFindings) = named.examined()
  let locations = try invocation.locations(directoriesAreStores: true)
  var (findings, needed): ([Finding], Set<SystemDirectories.Purpose>) = ([], [.applicationSupport])
  if locations.isEmpty {
    do {
      let location = try StoreLocation.of(invocation)
      if StoreLocation.isNamed(in: invocation) { needed = location.neededDirectories }
      findings = await StoreChecks(location: location.expandingTilde, sources: sources).all()
    } catch let error as CommandError where error.status == .usage {
      findings = [.problem("store", error.message, fix: "Set HOME, or name the store: coffer doctor STORE")]
    }
  } else {
    needed = locations.reduce(into: Set()) { $0.formUnion($1.neededDirectories) }
  }
  for location in locations {
    findings += await StoreChecks(location: location.expandingTilde, sources: sources).all()
  }
  findings += secretFindings
  // A fault of the system that does not keep a store from working is only a warning.
  let isUsable = !findings.contains { $0.verdict == .problem }
  let system = SystemChecks.all(needed: needed, isAsked: !locations.isEmpty)
  findings = (isUsable ? system.map(\.asWarning) : system) + findings
  // Without operands a keyring may not be needed, so its faults are only warnings.
  if locations.isEmpty { findings += KeychainChecks.all().map(\.asWarning) }
  let problems = findings.filter { $0.verdict == .problem }.count
  let warnings = findings.filter { $0.verdict == .warning }.count
  if invocation.has(.json) {
    try print(.object([("problems", .number(problems)), ("findings", .list(findings.map(\.json)))]))
  } else {
    let output = Output.standard
    let width = min(findings.filter { $0.verdict == .ok }.map(\.subject.count).max() ?? 0, 24)
    for finding in findings { try output.write(finding.text(output.style, width: width, columns: output.columns)) }
    let counts = [(problems, "problem"), (warnings, "warning")].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }
    try output.writeLine(counts.isEmpty ? "No problems found." : counts.joined(separator: ", ") + ".")
    try output.flush()
  }
  return problems == 0 ? .ok : .failure
}
